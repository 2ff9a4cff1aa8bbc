"""What a run can be told, and the TOML it is told in."""

from dhyan.config.decoding import DecodingOptions as DecodingOptions
from dhyan.config.recipe import Attention as Attention
from dhyan.config.recipe import BahdanauDecoder as BahdanauDecoder
from dhyan.config.recipe import Data as Data
from dhyan.config.recipe import LuongDecoder as LuongDecoder
from dhyan.config.recipe import MixedCorpus as MixedCorpus
from dhyan.config.recipe import Recipe as Recipe
from dhyan.config.recipe import RNNEncoder as RNNEncoder
from dhyan.config.recipe import Text as Text
from dhyan.config.recipe import Training as Training
from dhyan.config.recipe import TransformerDecoder as TransformerDecoder
from dhyan.config.recipe import TransformerEncoder as TransformerEncoder
from dhyan.config.toml import LONGEST_RECIPE as LONGEST_RECIPE
from dhyan.config.toml import differences as differences
from dhyan.config.toml import dump_recipe as dump_recipe
from dhyan.config.toml import load_recipe as load_recipe
from dhyan.config.toml import parse_recipe as parse_recipe
from dhyan.config.toml import parse_setting as parse_setting
from dhyan.config.toml import shipped_recipes as shipped_recipes
from dhyan.config.toml import suggestion as suggestion
