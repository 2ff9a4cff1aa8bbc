"""Whether a validation was the best so far, and what a run notes of it."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

from dhyan.training.state import Progress, Settings

LOWER_IS_BETTER = {"loss"}


def judged(
    progress: Progress, scores: Mapping[str, float], settings: Settings, *, on_schedule: bool
) -> tuple[Progress, bool]:
    """A run's progress with the scores of a validation, and whether they are the best so far."""
    noted, now = replace(progress, scores=scores), scores[settings.stop_on]
    lower = settings.stop_on in LOWER_IS_BETTER
    best = _better(now, noted.best_score, lower=lower)
    if best:
        noted = replace(noted, best_step=noted.step, best_score=now)
    if on_schedule and _better(now, noted.to_beat, lower=lower):
        noted = replace(noted, to_beat=now, waited=0)
    elif on_schedule:
        waited, plateau = noted.waited + 1, settings.plateau
        falls = noted.falls + bool(plateau and plateau.falls(waited))
        noted = replace(noted, waited=waited, falls=falls)
    return noted, best


def _better(now: float, before: float | None, *, lower: bool) -> bool:
    sign = 1 if lower else -1
    return isfinite(now) and (before is None or sign * now < sign * before)
