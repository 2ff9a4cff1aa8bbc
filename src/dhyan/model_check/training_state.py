"""Check the training state of a checkpoint of unknown origin."""

from collections import defaultdict
from typing import Any

from dhyan.config import Recipe
from dhyan.errors import UserError
from dhyan.safe_io.json_toml import safe_repr
from dhyan.safe_io.safetensors_header import Header

COUNTS = {
    *("step", "position", "validations_since_best", "rate_reductions", "length_multiple"),
    *("skipped_steps", "skipped_in_a_row", "restores", "split_steps"),
}
OPTIONAL = {"best_step", "best_score", "best_scheduled_score"}  # None before the first validation
RAW_WEIGHT = "raw"  # the weight itself, where the saved model is a moving average
ADAM_STATE = {"step", "exp_avg", "exp_avg_sq"}  # for each weight; SGD has no state
MAX_TENSORS_PER_WEIGHT = 4  # as large as the weight
DTYPE = "F32"


def check_train_state(state: Any, step: int) -> None:
    """Refuse a training state with invalid values, or of another step than the checkpoint's."""
    if not isinstance(state, dict):
        raise UserError("it is not a table")
    for name, value in state.items():
        if not _is_valid(name, value):
            raise UserError(f"its {safe_repr(name)} cannot be {safe_repr(value)}")
    if state.get("step") != step:
        raise UserError(f"its step is {state.get('step')}, the checkpoint's is {step}")
    if not state.get("length_multiple", 1):
        raise UserError("its 'length_multiple' cannot be 0")


def check_optimizer_state(header: Header, weights: Header, recipe: Recipe) -> None:
    """Refuse optimizer tensors that do not belong to these weights, or not to this optimizer."""
    keys_by_weight = defaultdict[str, set[str]](set)
    for full_name, entry in header.tensors.items():
        name, _, key = full_name.rpartition(":")
        if name not in weights.tensors:
            raise UserError(
                f"the training state names a weight {safe_repr(name)} that this model lacks"
            )
        shape = () if key == "step" else weights.tensors[name].shape
        if entry.shape != shape or entry.dtype != DTYPE:
            raise UserError(
                f"the training state's {safe_repr(full_name)} is {entry.dtype} of "
                f"{safe_repr(entry.shape)}, not {DTYPE} of {shape}"
            )
        keys_by_weight[name].add(key)
    raw = {RAW_WEIGHT} if recipe.training.ema_decay else set()
    expected = raw | (set() if recipe.training.optimizer == "sgd" else ADAM_STATE)
    for name in weights.tensors:
        keys = keys_by_weight[name]
        if keys not in (raw, expected):  # a frozen weight has no optimizer state
            key = min(keys ^ expected)
            verb = "has" if key in keys else "lacks"
            raise UserError(f"the training state {verb} {safe_repr(key)} of {safe_repr(name)}")


def _is_valid(name: str, value: Any) -> bool:
    """Whether a field of the training state is known, and its value of the right type."""
    if name in OPTIONAL and value is None:
        return True
    if name in COUNTS or name == "best_step":
        return type(value) is int and 0 <= value < 2**63
    if name in ("best_score", "best_scheduled_score"):
        return type(value) in (int, float)
    if name == "validation_pending":
        return type(value) is bool
    if name == "scores" and isinstance(value, dict):
        return all(type(score) in (int, float) for score in value.values())
    return False
