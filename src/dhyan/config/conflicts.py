"""Settings that belong to a choice, and are set aside or refused where another was made."""

from collections.abc import Mapping
from dataclasses import fields
from itertools import chain
from typing import Any

from dhyan.config.recipe import Recipe, Training
from dhyan.errors import UserError

BELONGS = {  # a key of `training`: the key whose choices it belongs to, and these
    "halve_from": ("schedule", ("halving",)),
    "halve_every": ("schedule", ("halving",)),
    "min_learning_rate_ratio": ("schedule", ("cosine", "plateau")),
    "plateau_factor": ("schedule", ("plateau",)),
    "plateau_patience": ("schedule", ("plateau",)),
    "teacher_forcing": ("teacher_forcing_schedule", ("constant", "linear")),
    "teacher_forcing_slope": ("teacher_forcing_schedule", ("linear",)),
    "teacher_forcing_min": ("teacher_forcing_schedule", ("linear",)),
    "teacher_forcing_k": ("teacher_forcing_schedule", ("exponential", "inverse_sigmoid")),
}
FILES = (
    *("source", "target", "columns", "mix", "valid_source", "valid_target"),
    *("test_source", "test_target"),
)
STANDS_FOR = {  # a key of `data` that names pairs, and what of a recipe it takes the place of
    "task": (*FILES, "prepared"),
    "source": ("task", "target", "prepared"),
    "prepared": ("task", *FILES),
    "mix": ("task",),
}
NAMES_PAIRS = ("source", "mix", "prepared")


def set_aside(table: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Take out of a recipe's table what the settings laid over it leave without a meaning.

    Pairs named anew stand in for those of the recipe, and another choice brings its own keys.
    """
    data, training = (table.get(room, {}) for room in ("data", "training"))
    if isinstance(data, dict):
        named = [others for key, others in STANDS_FOR.items() if settings.get(f"data.{key}")]
        for key in chain.from_iterable(named):
            data.pop(key, None)
    if isinstance(training, dict):
        for key, (chooser, choices) in BELONGS.items():
            if settings.get(f"training.{chooser}", choices[0]) not in choices:
                training.pop(key, None)


def check_choices(recipe: Recipe, place: str) -> None:
    """Refuse settings that would do nothing."""
    data, training = recipe.data, recipe.training
    defaults = {f.name: f.default for f in fields(Training)}
    for key, (chooser, choices) in BELONGS.items():
        value, made = getattr(training, key), getattr(training, chooser)
        if value != defaults[key] and made not in choices:
            owners = " or ".join(map(repr, choices))
            raise UserError(
                f"{place}.training.{key}: {value} does nothing with training.{chooser} = {made!r}, "
                f"it is for {owners}; leave it out"
            )
    named = [key for key in NAMES_PAIRS if getattr(data, key)]
    if data.task and named:
        raise UserError(
            f"{place}.data.task: {data.task!r} makes its own pairs, and data.{named[0]} names "
            f"others; leave one of them out"
        )
    for what in ("valid", "test"):
        if getattr(data, f"{what}_target") and not getattr(data, f"{what}_source"):
            reason = f"has no source side; name data.{what}_source too"
            raise UserError(f"{place}.data.{what}_target: {reason}")
