"""Configuration: recipes with every setting of a run, declared once and read from TOML."""

from dhyan.config.declare_settings import paths_in as paths_in
from dhyan.config.declare_settings import suggestion as suggestion
from dhyan.config.declare_settings import with_absolute_paths as with_absolute_paths
from dhyan.config.decoding import DecodingChanges as DecodingChanges
from dhyan.config.decoding import DecodingOptions as DecodingOptions
from dhyan.config.recipe import Recipe as Recipe
from dhyan.config.recipe import RecipeError as RecipeError
from dhyan.config.sections import Attention as Attention
from dhyan.config.sections import AttentiveDecoder as AttentiveDecoder
from dhyan.config.sections import BahdanauDecoder as BahdanauDecoder
from dhyan.config.sections import Data as Data
from dhyan.config.sections import LuongDecoder as LuongDecoder
from dhyan.config.sections import MixedCorpus as MixedCorpus
from dhyan.config.sections import RNNDecoder as RNNDecoder
from dhyan.config.sections import RNNEncoder as RNNEncoder
from dhyan.config.sections import Text as Text
from dhyan.config.sections import Training as Training
from dhyan.config.sections import TransformerDecoder as TransformerDecoder
from dhyan.config.sections import TransformerEncoder as TransformerEncoder
from dhyan.config.toml import LONGEST_RECIPE as LONGEST_RECIPE
from dhyan.config.toml import differences as differences
from dhyan.config.toml import dump_recipe as dump_recipe
from dhyan.config.toml import load_recipe as load_recipe
from dhyan.config.toml import parse_recipe as parse_recipe
from dhyan.config.toml import parse_setting as parse_setting
from dhyan.config.toml import shipped_recipes as shipped_recipes
