"""Divergence detection: non-finite weights are never saved; a diverged run ends with an error."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from dhyan.errors import UserError
from dhyan.training.events import Skipped
from dhyan.training.state import TrainState

MAX_LISTED = 12  # examples in a message; the events have all of them


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """Every tensor of an optimizer's state."""
    values = (value for state in optimizer.state.values() for value in state.values())
    return [value for value in values if isinstance(value, Tensor)]


@torch.no_grad()
def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Whether no tensor holds NaN or infinity; this waits for each device once."""
    checks = [tensor.detach().isfinite().all() for tensor in tensors if tensor.is_floating_point()]
    devices = {check.device for check in checks}
    return all(
        bool(torch.stack([check for check in checks if check.device == device]).all())
        for device in devices
    )


def divergence_error(
    state: TrainState, skipped: Sequence[Skipped], *, checkpoint_step: int
) -> UserError:
    """The error of a run that cannot recover: since which step, and with which examples."""
    again = f", also after {state.restores} restores of step {checkpoint_step}"
    where = f"before step {state.step}{again if state.restores else ''}"
    if not skipped:
        return UserError(
            f"training diverged {where}: a weight is not finite; lower training.learning_rate"
        )
    examples = dict.fromkeys(row for event in skipped for row in event.examples)
    return UserError(
        f"training diverged {where}: {skipped[-1].reason}; {len(skipped)} steps were skipped, with "
        f"examples {first_examples(tuple(examples))} (all are in metrics.jsonl): fix those pairs, "
        f"or lower training.learning_rate"
    )


def first_examples(rows: Sequence[int]) -> str:
    """The numbers of the first examples, for a message."""
    return ", ".join(map(str, rows[:MAX_LISTED])) + (" …" if len(rows) > MAX_LISTED else "")
