"""Divergence: steps without a finite loss or gradient, and weights that must not be saved."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from dhyan.errors import UserError
from dhyan.training.events import Skipped
from dhyan.training.prefetch import BatchStream
from dhyan.training.state import TrainState
from dhyan.training.update import LossAndNorm

MAX_LISTED = 12  # examples in a message; the events have all of them


@dataclass(frozen=True)
class PendingStep:
    """A step whose loss and gradient norm are still on the device.

    `positions` are where its batches begin, `parts` in how many parts they were computed.
    """

    step: int
    positions: tuple[int, ...]
    result: LossAndNorm
    tokens: int
    parts: int


@dataclass(frozen=True)
class StepResult:
    """A step with its loss, summed over its tokens, and its gradient norm."""

    step: int
    positions: tuple[int, ...]
    loss: float
    norm: float
    tokens: int
    parts: int

    @property
    def finite(self) -> bool:
        """Whether loss and gradient were finite, so that the step changed the weights."""
        return isfinite(self.loss) and isfinite(self.norm)

    @property
    def split(self) -> bool:
        """Whether a batch did not fit into memory and was split."""
        return self.parts > len(self.positions)

    def skipped(self, batches: BatchStream) -> Skipped:
        """The event of a step that was not finite, with the examples of its batches."""
        examples = [row for position in self.positions for row in batches.members(position)]
        reason = f"loss {self.loss}, gradient {self.norm}"
        return Skipped(self.step, self.positions, tuple(examples), reason)


def read_results(steps: Sequence[PendingStep]) -> list[StepResult]:
    """Read the results of several steps; this waits for the device once."""
    losses, norms = torch.stack([torch.stack(step.result) for step in steps]).T.tolist()
    return [
        StepResult(step.step, step.positions, loss, norm, step.tokens, step.parts)
        for step, loss, norm in zip(steps, losses, norms, strict=True)
    ]


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
    state: TrainState, skipped: Sequence[Skipped], *, checkpoint: int
) -> UserError:
    """The error of a run that cannot recover: since which step, and with which examples."""
    again = f", also after {state.restores} restores of step {checkpoint}"
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
