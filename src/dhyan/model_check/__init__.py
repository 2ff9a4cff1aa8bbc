"""Check a model folder of unknown origin before any of it is used.

File kinds, sizes, hashes, recipe, vocabularies and tensor headers are checked before torch is
imported; then the weights are compared with the model the recipe builds on the `meta` device.
"""

from dhyan.model_check.model_folder import MODEL_FILES as MODEL_FILES
from dhyan.model_check.model_folder import CheckedModel as CheckedModel
from dhyan.model_check.model_folder import check_folder as check_folder
from dhyan.model_check.model_folder import find_saved_recipe as find_saved_recipe
from dhyan.model_check.model_folder import parse_saved_recipe as parse_saved_recipe
from dhyan.model_check.model_folder import read_model as read_model
from dhyan.model_check.model_folder import read_training_sentences as read_training_sentences
from dhyan.model_check.model_folder import read_without_torch as read_without_torch
