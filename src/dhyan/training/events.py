"""What happens during training, as values for whoever is listening."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Stepped:
    """Some updates of the weights: the mean loss per token since the last report, and the pace."""

    step: int
    epoch: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Validated:
    """What the model is worth on sentences it was not trained on."""

    step: int
    scores: Mapping[str, float]
    best: bool


@dataclass(frozen=True)
class Saved:
    """A checkpoint that is whole and on disk."""

    step: int
    folder: Path
    best: bool


@dataclass(frozen=True)
class Skipped:
    """A step that found no finite loss or gradient, and so changed nothing.

    `positions` are where its batches begin in the order of the run, `examples` the rows of the
    corpus they hold.
    """

    step: int
    positions: tuple[int, ...]
    examples: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class Restored:
    """The run went back from a step to a checkpoint, and takes the batches after `position`."""

    step: int
    checkpoint: int
    position: int


@dataclass(frozen=True)
class BatchSplit:
    """A step whose batches were too large for the memory, and were taken in so many parts."""

    step: int
    parts: int


@dataclass(frozen=True)
class SaveFailed:
    """A checkpoint that could not be written, and why; the run goes on."""

    step: int
    reason: str


@dataclass(frozen=True)
class Stopped:
    """The run ended before its last step, and why."""

    step: int
    reason: str


Problem = Skipped | Restored | BatchSplit | SaveFailed
Event = Stepped | Validated | Saved | Problem | Stopped
