"""A model of unknown origin is looked through before any of it is used, and before torch is there.

Nothing here builds a model, and nothing here imports torch.
"""

from dhyan.vetting.fitting import check_bounds as check_bounds
from dhyan.vetting.fitting import check_fits as check_fits
from dhyan.vetting.fitting import is_foreseen as is_foreseen
from dhyan.vetting.model import MODEL_FILES as MODEL_FILES
from dhyan.vetting.model import Vetted as Vetted
from dhyan.vetting.model import look_at_newest as look_at_newest
from dhyan.vetting.model import parse_saved_recipe as parse_saved_recipe
from dhyan.vetting.model import read_model as read_model
