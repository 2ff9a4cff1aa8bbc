"""Early stopping with patience: track the best validation score, decide when to stop."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite

from dhyan.training.state import TrainerSettings, TrainState, lower_is_better


def record_validation(
    state: TrainState, scores: Mapping[str, float], settings: TrainerSettings
) -> TrainState:
    """The state after a validation; its `best_step` is this step if no score was better before.

    Only the validations of the schedule count for patience and for the plateau schedule.
    """
    metric = settings.early_stopping_metric
    score = scores[metric]
    state = replace(state, scores=scores)
    if _is_better(score, state.best_score, metric):
        state = replace(state, best_step=state.step, best_score=score)
    if not settings.validation_due(state.step):
        return state
    if _is_better(score, state.best_scheduled_score, metric):
        return replace(state, best_scheduled_score=score, validations_since_best=0)
    validations, plateau = state.validations_since_best + 1, settings.plateau
    reduced = plateau is not None and plateau.reduces(validations)
    return replace(
        state,
        validations_since_best=validations,
        rate_reductions=state.rate_reductions + reduced,
    )


def out_of_patience(state: TrainState, settings: TrainerSettings) -> str:
    """Why a run stops early: too many validations without improvement; empty if it does not."""
    if not settings.patience or state.validations_since_best < settings.patience:
        return ""
    return (
        f"{settings.early_stopping_metric} did not improve in {state.validations_since_best} "
        f"validations; the best was at step {state.best_step}"
    )


def _is_better(score: float, best: float | None, metric: str) -> bool:
    sign = -1 if lower_is_better(metric) else 1
    return isfinite(score) and (best is None or sign * score > sign * best)
