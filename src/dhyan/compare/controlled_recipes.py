"""Recipes made alike in all but what is compared: their models, and how these are best trained."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from dhyan.compare.budget import Budget
from dhyan.config import Recipe
from dhyan.errors import UserError

# Keys of `training`; rate, schedule and optimizer stay the recipe's own.
SHARED = (
    *("seed", "tokens_per_batch", "gradient_accumulation", "label_smoothing"),
    *("early_stopping_metric", "valid_sentences"),
)
VALIDATIONS = 10  # of a run whose steps are known


@dataclass(frozen=True)
class Contestant:
    """A recipe that takes part under a name, and one sentence about it."""

    name: str
    recipe: Recipe
    about: str = ""


def named(recipes: Sequence[tuple[str, Recipe]]) -> list[Contestant]:
    """Contestants by the names of their recipes; one whose name is taken is `name-2` or later."""
    found: dict[str, Contestant] = {}
    for name, recipe in recipes:
        free = chain([name], (f"{name}-{number}" for number in count(2)))
        own = next(one for one in free if one not in found)
        found[own] = Contestant(own, recipe, recipe.about)
    return list(found.values())


def alike(contestants: Sequence[Contestant], budget: Budget) -> list[Contestant]:
    """All of them with the data, words, batches, seed and search of the first."""
    first = contestants[0].recipe
    _check(contestants, budget)
    every = max(1, budget.steps // VALIDATIONS)
    if budget.seconds:
        every = first.training.validate_every
    shared: dict[str, Any] = {key: getattr(first.training, key) for key in SHARED}
    shared |= {"steps": budget.last_step, "validate_every": every, "save_every": every}
    found = []
    for one in contestants:
        training = replace(one.recipe.training, **shared, patience=0, keep_checkpoints=1)
        recipe = replace(
            one.recipe,
            data=first.data,
            text=first.text,
            training=training,
            decoding=first.decoding,
        )
        found.append(replace(one, recipe=recipe))
    return found


def _check(contestants: Sequence[Contestant], budget: Budget) -> None:
    """Refuse what would make the comparison unfair, or could not be kept to."""
    for one in contestants:
        training = one.recipe.training
        if training.init_from:
            raise UserError(
                f"{one.name}: training.init_from = {training.init_from!r} begins from a "
                f"trained model; in a "
                f"comparison all begin anew"
            )
        if training.schedule == "cosine" and budget.seconds:
            raise UserError(
                f"{one.name}: its cosine must know its last step, and a time does not say it; give "
                f"--budget in steps, or --set training.schedule=inverse_sqrt"
            )
    if not contestants[0].recipe.training.tokens_per_batch:
        raise UserError("training.tokens_per_batch = 0 finds one for each model; name one for all")
