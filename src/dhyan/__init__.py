"""Dhyan: sequence-to-sequence learning, with attention as the subject."""

from importlib import import_module
from typing import TYPE_CHECKING

from dhyan.version import __version__ as __version__

if TYPE_CHECKING:
    from dhyan.attention.attend import attend as attend
    from dhyan.attention.registry import register as register
    from dhyan.attention_maps import AttentionMap as AttentionMap
    from dhyan.decoding.translator import Translation as Translation
    from dhyan.decoding.translator import Translator as Translator
    from dhyan.insight.explain import explain as explain
    from dhyan.run.load import load as load
    from dhyan.run.load import load_ensemble as load_ensemble

_HOMES = {
    "AttentionMap": "dhyan.attention_maps",
    "Translation": "dhyan.decoding.translator",
    "Translator": "dhyan.decoding.translator",
    "attend": "dhyan.attention.attend",
    "explain": "dhyan.insight.explain",
    "load": "dhyan.run",
    "load_ensemble": "dhyan.run",
    "register": "dhyan.attention.registry",
}
__all__ = ["__version__", "lessons", *_HOMES]


def __getattr__(name: str) -> object:
    """Fetch a public name when it is first used, so that `import dhyan` costs nothing."""
    if name == "lessons":
        return import_module("dhyan.lessons")
    if name not in _HOMES:
        raise AttributeError(f"module 'dhyan' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
