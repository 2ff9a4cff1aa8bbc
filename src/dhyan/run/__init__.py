"""From recipes to training runs, and from model folders to translators."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dhyan.run.load import load as load
    from dhyan.run.load import load_ensemble as load_ensemble
    from dhyan.run.train import Run as Run
    from dhyan.run.train import train as train

_NAMES = {"load": "load", "load_ensemble": "load", "Run": "train", "train": "train"}


def __getattr__(name: str) -> object:
    """Import a name when it is first used: a translator on a CPU does not need torch."""
    if name not in _NAMES:
        raise AttributeError(f"module 'dhyan.run' has no attribute {name!r}")
    value = getattr(import_module(f"dhyan.run.{_NAMES[name]}"), name)
    globals()[name] = value  # the module of the same name does not hide the function
    return value
