"""The learning rate as a function of the step: a factor on the recipe's rate."""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi

Schedule = Callable[[int], float]


def constant(*, warmup: int = 0) -> Schedule:
    """The full rate, reached in a straight line over the warm-up."""
    return lambda step: min(1.0, step / warmup) if warmup else 1.0


def inverse_sqrt(*, warmup: int) -> Schedule:
    """Up in a straight line, then down with 1/√step (Vaswani et al., 2017); 1 at the peak."""
    peak = max(warmup, 1)
    return lambda step: min(step / peak, (peak / step) ** 0.5)


def halving(*, start: int, every: int, warmup: int = 0) -> Schedule:
    """The full rate until `start`, then half as much after every `every` steps (Luong et al.)."""
    rise = constant(warmup=warmup)
    return lambda step: rise(step) * 0.5 ** max(0, (step - start + every - 1) // every)


def cosine(*, steps: int, warmup: int = 0, lowest: float = 0.0) -> Schedule:
    """Up in a straight line, then half a cosine down to `lowest` at the last of the `steps`.

    One period of Loshchilov and Hutter (2017), without their restarts; what comes after it stays
    at `lowest`.
    """
    rise = constant(warmup=warmup)

    def factor(step: int) -> float:
        if step <= warmup:
            return rise(step)
        done = min(1.0, (step - warmup) / (steps - warmup))
        return lowest + (1 - lowest) * (1 + cos(pi * done)) / 2

    return factor


@dataclass(frozen=True, kw_only=True)
class Plateau:
    """A rate that falls, on top of its schedule, whenever validations stop getting better.

    It is multiplied by `factor` after `patience` of them in a row without a better one, again after
    as many more, and never goes below `lowest`. How often it has fallen is part of the progress.
    """

    factor: float = 0.5
    patience: int = 2
    lowest: float = 0.0

    def reduces(self, validations_since_best: int) -> bool:
        """Whether the rate falls when so many validations in a row were no better."""
        return validations_since_best > 0 and validations_since_best % self.patience == 0

    def factor_after(self, reductions: int) -> float:
        """What is left of the rate when it has fallen so often."""
        return max(self.lowest, self.factor**reductions)
