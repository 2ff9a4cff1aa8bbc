"""Attention: who asks, how it scores, what it may see, and how many heads it has."""

from dhyan.attention.additive import AdditiveScore as AdditiveScore
from dhyan.attention.additive import CoverageScore as CoverageScore
from dhyan.attention.attend import attend as attend
from dhyan.attention.bottleneck import bottleneck as bottleneck
from dhyan.attention.location import LocationScore as LocationScore
from dhyan.attention.masks import PredictedWindow as PredictedWindow
from dhyan.attention.masks import everything as everything
from dhyan.attention.masks import near_the_step as near_the_step
from dhyan.attention.masks import the_first as the_first
from dhyan.attention.masks import the_last as the_last
from dhyan.attention.masks import the_past as the_past
from dhyan.attention.multihead import MultiHeadAttention as MultiHeadAttention
from dhyan.attention.multiplicative import DotScore as DotScore
from dhyan.attention.multiplicative import GeneralScore as GeneralScore
from dhyan.attention.parameter_free import plain as plain
from dhyan.attention.protocol import Attended as Attended
from dhyan.attention.protocol import Attention as Attention
from dhyan.attention.protocol import Memory as Memory
from dhyan.attention.protocol import Score as Score
from dhyan.attention.protocol import Sight as Sight
from dhyan.attention.registry import mechanisms as mechanisms
from dhyan.attention.registry import register as register
from dhyan.attention.registry import registered as registered
from dhyan.attention.relative_positions import AlibiScore as AlibiScore
from dhyan.attention.relative_positions import RotaryScore as RotaryScore
from dhyan.attention.single_head import SingleHeadAttention as SingleHeadAttention
