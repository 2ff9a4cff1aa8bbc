"""Dhyan: sequence-to-sequence learning with attention."""

from importlib import import_module
from typing import TYPE_CHECKING

from dhyan.version import __version__ as __version__

if TYPE_CHECKING:
    from dhyan.attention.attend import attend as attend
    from dhyan.attention.registry import register as register
    from dhyan.attention_maps import AttentionMap as AttentionMap
    from dhyan.config import DecodingOptions as DecodingOptions
    from dhyan.config import Recipe as Recipe
    from dhyan.config import load_recipe as load_recipe
    from dhyan.decoding.translator import Translation as Translation
    from dhyan.decoding.translator import Translator as Translator
    from dhyan.insight.explain import explain as explain
    from dhyan.insight.heatmap import heatmap as heatmap
    from dhyan.run.load import load as load
    from dhyan.run.load import load_ensemble as load_ensemble
    from dhyan.run.train import train as train

_MODULES = {
    "AttentionMap": "dhyan.attention_maps",
    "DecodingOptions": "dhyan.config",
    "Recipe": "dhyan.config",
    "Translation": "dhyan.decoding.translator",
    "Translator": "dhyan.decoding.translator",
    "attend": "dhyan.attention.attend",
    "explain": "dhyan.insight.explain",
    "heatmap": "dhyan.insight.heatmap",
    "load": "dhyan.run",
    "load_ensemble": "dhyan.run",
    "load_recipe": "dhyan.config",
    "register": "dhyan.attention.registry",
    "train": "dhyan.run",
}
_SUBMODULES = ("lessons", "models")
__all__ = ["__version__", *_SUBMODULES, *_MODULES]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import dhyan` costs nothing."""
    if name in _SUBMODULES:
        return import_module(f"dhyan.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'dhyan' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
