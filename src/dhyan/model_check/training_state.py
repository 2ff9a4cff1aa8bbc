"""Whether what a checkpoint keeps for a run to go on is such a thing, and of the same model."""

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
MAY_LACK = {"best_step", "best_score", "best_scheduled_score"}  # before the first validation
RAW = "raw"  # the weight itself, where the model is an average
MEMORY = {"step", "exp_avg", "exp_avg_sq"}  # what Adam keeps of each weight; plain descent, nothing
PER_WEIGHT = 4  # times what a weight takes is more than a run keeps of it
DTYPE = "F32"


def check_progress(facts: Any, step: int) -> None:
    """Refuse a place in a run that is none, or another than that of the checkpoint."""
    if not isinstance(facts, dict):
        raise UserError("it is no table of what a run has come to")
    for name, value in facts.items():
        if not _is_fit(name, value):
            raise UserError(f"its {safe_repr(name)} cannot be {safe_repr(value)}")
    if facts.get("step") != step:
        raise UserError(f"its step is {facts.get('step')}, the checkpoint's is {step}")
    if not facts.get("length_multiple", 1):
        raise UserError("its 'length_multiple' cannot be 0")


def check_memory(memory: Header, weights: Header, recipe: Recipe) -> None:
    """Refuse an optimizer's memory that is not of these weights, or not of this optimizer."""
    kept = defaultdict[str, set[str]](set)
    for full_name, listed in memory.tensors.items():
        name, _, what = full_name.rpartition(":")
        if name not in weights.tensors:
            raise UserError(
                f"the training state names a weight {safe_repr(name)} that this model lacks"
            )
        shape = () if what == "step" else weights.tensors[name].shape
        if listed.shape != shape or listed.dtype != DTYPE:
            found = f"{listed.dtype} of {safe_repr(listed.shape)}, not {DTYPE} of {shape}"
            raise UserError(f"the training state's {safe_repr(full_name)} is {found}")
        kept[name].add(what)
    wanted = set() if recipe.training.optimizer == "sgd" else MEMORY
    averaged = {RAW} if recipe.training.ema_decay else set()
    for name in weights.tensors:
        if kept[name] not in (averaged, wanted | averaged):  # a frozen weight is not remembered
            odd = min(kept[name] ^ (wanted | averaged))
            found = "has" if odd in kept[name] else "lacks"
            raise UserError(f"the training state {found} {safe_repr(odd)} of {safe_repr(name)}")


def _is_fit(name: str, value: Any) -> bool:
    """Whether a fact is known, and of its kind."""
    if name in MAY_LACK and value is None:
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
