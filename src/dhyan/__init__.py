"""Dhyan: sequence-to-sequence learning with attention.

load("en-hi") is a translator: a pretrained model, or a run folder; load_ensemble takes several.
train(data, recipe), resume and evaluate make and score models; explain, heatmap and attend show
attention; register adds a score, register_task a task, register_metric a metric; Recipe,
load_recipe and DecodingOptions are settings; lessons teach.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dhyan.version import __version__ as __version__

if TYPE_CHECKING:
    from dhyan import lessons as lessons
    from dhyan import models as models
    from dhyan.api.evaluate import Evaluation as Evaluation
    from dhyan.api.evaluate import evaluate as evaluate
    from dhyan.api.explain import explain as explain
    from dhyan.api.train import TrainingResult as TrainingResult
    from dhyan.api.train import resume as resume
    from dhyan.api.train import train as train
    from dhyan.attention.attend import attend as attend
    from dhyan.attention.registry import register as register
    from dhyan.attention_maps import AttentionMap as AttentionMap
    from dhyan.config import DecodingOptions as DecodingOptions
    from dhyan.config import Recipe as Recipe
    from dhyan.config import load_recipe as load_recipe
    from dhyan.decoding.render import Translation as Translation
    from dhyan.decoding.render import Translations as Translations
    from dhyan.decoding.translator import Translator as Translator
    from dhyan.errors import UserError as UserError
    from dhyan.evaluation.metric import register_metric as register_metric
    from dhyan.insight.heatmap import heatmap as heatmap
    from dhyan.run.load import load as load
    from dhyan.run.load import load_ensemble as load_ensemble
    from dhyan.tasks import register_task as register_task

_MODULES = {
    "AttentionMap": "dhyan.attention_maps",
    "DecodingOptions": "dhyan.config",
    "Evaluation": "dhyan.api.evaluate",
    "Recipe": "dhyan.config",
    "TrainingResult": "dhyan.api.train",
    "Translation": "dhyan.decoding.render",
    "Translations": "dhyan.decoding.render",
    "Translator": "dhyan.decoding.translator",
    "UserError": "dhyan.errors",
    "attend": "dhyan.attention.attend",
    "evaluate": "dhyan.api.evaluate",
    "explain": "dhyan.api.explain",
    "heatmap": "dhyan.insight.heatmap",
    "load": "dhyan.run.load",
    "load_ensemble": "dhyan.run.load",
    "load_recipe": "dhyan.config",
    "register": "dhyan.attention.registry",
    "register_metric": "dhyan.evaluation.metric",
    "register_task": "dhyan.tasks",
    "resume": "dhyan.api.train",
    "train": "dhyan.api.train",
}
_SUBMODULES = ("lessons", "models")


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that `import dhyan` costs nothing."""
    if name in _SUBMODULES:
        return import_module(f"dhyan.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'dhyan' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """The public names; `__all__` is left out, with which help(dhyan) would print all of them."""
    return sorted(("__version__", *_SUBMODULES, *_MODULES))
