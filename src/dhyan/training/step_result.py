"""The result of a step: on the device while training runs ahead, then read for the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import torch

from dhyan.training.events import Skipped
from dhyan.training.prefetch import BatchStream
from dhyan.training.update import LossAndNorm


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

    def skipped_event(self, batches: BatchStream) -> Skipped:
        """The event of a step that was not finite, with the examples of its batches."""
        examples = [row for position in self.positions for row in batches.example_ids(position)]
        reason = f"loss {self.loss}, gradient {self.norm}"
        return Skipped(self.step, self.positions, tuple(examples), reason)


def read_results(steps: Sequence[PendingStep]) -> list[StepResult]:
    """Read the results of several steps; this waits for the device once."""
    losses, norms = torch.stack([torch.stack(step.result) for step in steps]).T.tolist()
    return [
        StepResult(step.step, step.positions, loss, norm, step.tokens, step.parts)
        for step, loss, norm in zip(steps, losses, norms, strict=True)
    ]
