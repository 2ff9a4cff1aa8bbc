"""Whether a validation was the best so far, and what a run notes of it."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

from dhyan.training.state import TrainerSettings, TrainState

LOWER_IS_BETTER = {"loss"}


def record_validation(
    state: TrainState, scores: Mapping[str, float], settings: TrainerSettings, *, on_schedule: bool
) -> tuple[TrainState, bool]:
    """A run's progress with the scores of a validation, and whether they are the best so far."""
    noted, now = replace(state, scores=scores), scores[settings.stop_on]
    lower = settings.stop_on in LOWER_IS_BETTER
    best = _better(now, noted.best_score, lower=lower)
    if best:
        noted = replace(noted, best_step=noted.step, best_score=now)
    if on_schedule and _better(now, noted.best_scheduled_score, lower=lower):
        noted = replace(noted, best_scheduled_score=now, validations_since_best=0)
    elif on_schedule:
        validations_since_best, plateau = noted.validations_since_best + 1, settings.plateau
        reductions = noted.rate_reductions + bool(
            plateau and plateau.reduces(validations_since_best)
        )
        noted = replace(
            noted, validations_since_best=validations_since_best, rate_reductions=reductions
        )
    return noted, best


def _better(now: float, before: float | None, *, lower: bool) -> bool:
    sign = 1 if lower else -1
    return isfinite(now) and (before is None or sign * now < sign * before)
