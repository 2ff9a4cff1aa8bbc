"""A model of unknown origin is looked through before any of it is used, and before torch is there.

Nothing here builds a model, and nothing here imports torch.
"""

from dhyan.model_check.folder import MODEL_FILES as MODEL_FILES
from dhyan.model_check.folder import CheckedModel as CheckedModel
from dhyan.model_check.folder import check_newest as check_newest
from dhyan.model_check.folder import parse_saved_recipe as parse_saved_recipe
from dhyan.model_check.folder import read_model as read_model
from dhyan.model_check.match_recipe import check_fits as check_fits
from dhyan.model_check.match_recipe import is_foreseen as is_foreseen
