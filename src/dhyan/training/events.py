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
class Stopped:
    """The run ended before its last step, and why."""

    step: int
    reason: str


Event = Stepped | Validated | Saved | Stopped
