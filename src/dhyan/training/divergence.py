"""Steps that found no finite loss or gradient, and numbers that must not be kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from dhyan.training.events import Skipped
from dhyan.training.prefetch import BatchStream
from dhyan.training.state import TrainState
from dhyan.training.update import LossAndNorm

MAX_LISTED = 12  # examples in a message; all of them are among the events


@dataclass(frozen=True)
class PendingStep:
    """A step that was taken, where its batches began, and what it found, still on the device."""

    step: int
    positions: tuple[int, ...]
    found: LossAndNorm
    tokens: int
    parts: int


@dataclass(frozen=True)
class StepResult:
    """The same, once what it found has been read."""

    step: int
    positions: tuple[int, ...]
    loss: float
    norm: float
    tokens: int
    parts: int

    @property
    def finite(self) -> bool:
        """Whether the step changed the weights."""
        return isfinite(self.loss) and isfinite(self.norm)

    @property
    def split(self) -> bool:
        """Whether a batch was too large for the memory."""
        return self.parts > len(self.positions)

    def skipped(self, batches: BatchStream) -> Skipped:
        """The event of it, with the examples it had."""
        rows = [row for position in self.positions for row in batches.members(position)]
        found = f"loss {self.loss}, gradient {self.norm}"
        return Skipped(self.step, self.positions, tuple(rows), found)


def read_results(steps: Sequence[PendingStep]) -> list[StepResult]:
    """Read what steps have found: the device is waited for once, not at every step."""
    losses, norms = torch.stack([torch.stack(one.found) for one in steps]).T.tolist()
    return [
        StepResult(one.step, one.positions, loss, norm, one.tokens, one.parts)
        for one, loss, norm in zip(steps, losses, norms, strict=True)
    ]


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """All that an optimizer keeps of the steps before."""
    kept = (one for state in optimizer.state.values() for one in state.values())
    return [one for one in kept if isinstance(one, Tensor)]


@torch.no_grad()
def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Whether every number is one; the device is waited for once."""
    checked = [one.detach().isfinite().all() for one in tensors if one.is_floating_point()]
    devices = {one.device for one in checked}
    return all(
        bool(torch.stack([one for one in checked if one.device == device]).all())
        for device in devices
    )


def divergence_message(state: TrainState, skipped: Sequence[Skipped], *, checkpoint: int) -> str:
    """What to say of a run that finds nothing finite any more, and where to look."""
    again = f", also after {state.restores} restores of step {checkpoint}"
    where = f"before step {state.step}{again if state.restores else ''}"
    if not skipped:
        return f"training diverged {where}: a weight is not finite; lower training.learning_rate"
    rows = dict.fromkeys(row for one in skipped for row in one.examples)
    return (
        f"training diverged {where}: {skipped[-1].reason}; {len(skipped)} steps were skipped, with "
        f"examples {first_examples(tuple(rows))} (all are in metrics.jsonl): fix those pairs, or "
        f"lower training.learning_rate"
    )


def first_examples(rows: Sequence[int]) -> str:
    """The first of some examples, by their numbers."""
    return ", ".join(map(str, rows[:MAX_LISTED])) + (" …" if len(rows) > MAX_LISTED else "")
