"""From recipes to training runs, and from model folders to translators."""

from dhyan.run.load import load as load
from dhyan.run.load import load_ensemble as load_ensemble
from dhyan.run.train import Run as Run
from dhyan.run.train import train as train
