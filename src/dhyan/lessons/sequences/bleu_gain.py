"""A difference of BLEU between two models, with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}  # of 95 %, by the number of seeds


@dataclass(frozen=True)
class Gain:
    """A difference between two models, with its 95 % interval where it is known."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The interval, or twice the value if it is not known."""
        low, high = (self.value if end is None else end for end in (self.low, self.high))
        return low, high

    @property
    def sign(self) -> int:
        """1 if the interval is above 0, −1 if it is below, else 0."""
        low, high = self.ends
        return int(low > 0) - int(high < 0)

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return with_sign(self.value)
        return f"{with_sign(self.value)} ({with_sign(self.low)} … {with_sign(self.high)})"


def with_sign(value: float) -> str:
    """A number with its sign and one decimal."""
    return f"{value:+.1f}".replace("-", "−")


def gain_over_seeds(before: Sequence[float], after: Sequence[float]) -> Gain:
    """Mean difference of trainings with the same seeds, with Student's 95 % interval."""
    differences = [b - a for a, b in zip(before, after, strict=True)]
    value = mean(differences)
    if len(differences) not in STUDENT:
        return Gain(value)
    margin = STUDENT[len(differences)] * stdev(differences) / sqrt(len(differences))
    return Gain(value, value - margin, value + margin)
