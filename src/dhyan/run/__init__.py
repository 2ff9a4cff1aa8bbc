"""A recipe becomes data, model and trainer; a folder becomes a translator."""

from dhyan.run.load import load as load
from dhyan.run.load import load_ensemble as load_ensemble
from dhyan.run.train import Run as Run
from dhyan.run.train import train as train
