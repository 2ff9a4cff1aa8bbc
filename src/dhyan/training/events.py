"""Training events that the trainer yields: step, validation, checkpoint, skipped batch, stop …"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Stepped:
    """Progress since the last report: mean loss per token, tokens and seconds of its finite steps.

    `learning_rate` and `gradient_norm`, before clipping, are those of the last of them.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Validated:
    """The scores of a validation, and whether they are the best so far."""

    step: int
    scores: Mapping[str, float]
    best: bool


@dataclass(frozen=True)
class Saved:
    """A checkpoint that was written and synced to disk."""

    step: int
    folder: Path
    best: bool


@dataclass(frozen=True)
class Skipped:
    """A step without a finite loss and gradient, which changed nothing.

    `positions` are the positions of its batches in the stream, `examples` the numbers of their
    examples.
    """

    step: int
    positions: tuple[int, ...]
    examples: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class Restored:
    """The run went back from `step` to a checkpoint, and continues with the batches at `position`."""

    step: int
    checkpoint_step: int
    position: int


@dataclass(frozen=True)
class BatchSplit:
    """A step whose batches did not fit into memory and were computed in `parts` parts."""

    step: int
    parts: int


@dataclass(frozen=True)
class SaveFailed:
    """A checkpoint that could not be written; training goes on."""

    step: int
    reason: str


@dataclass(frozen=True)
class Stopped:
    """The run ended before its last step."""

    step: int
    reason: str


Problem = Skipped | Restored | BatchSplit | SaveFailed
Event = Stepped | Validated | Saved | Problem | Stopped
