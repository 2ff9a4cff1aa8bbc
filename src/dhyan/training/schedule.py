"""Learning rate schedules: a factor on the learning rate as a function of the step."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, cos, pi

Schedule = Callable[[int], float]


def constant(*, warmup: int = 0) -> Schedule:
    """Constant, after a linear warm-up."""
    return lambda step: min(1.0, step / warmup) if warmup else 1.0


def inverse_sqrt(*, warmup: int) -> Schedule:
    """Linear warm-up, then 1/√step (Vaswani et al., 2017, equation 3), scaled to 1 at the peak.

    The paper's constant d_model^−0.5 · warmup^−0.5 is part of the learning rate.
    """
    peak = max(warmup, 1)
    return lambda step: min(step / peak, (peak / step) ** 0.5)


def halving(*, start: int, every: int, warmup: int = 0) -> Schedule:
    """Constant until `start`, halved at the next step, and again every `every` steps after it.

    The schedule of Luong et al. (2015), who count in epochs.
    """
    warm_up = constant(warmup=warmup)
    return lambda step: warm_up(step) * 0.5 ** max(0, ceil((step - start) / every))


def cosine(*, steps: int, warmup: int = 0, lowest_factor: float = 0.0) -> Schedule:
    """Linear warm-up, then half a cosine down to `lowest_factor` at the last of `steps`.

    One period of Loshchilov and Hutter (2017), without restarts; constant afterwards.
    """
    warm_up = constant(warmup=warmup)

    def factor(step: int) -> float:
        if step <= warmup:
            return warm_up(step)
        done = min(1.0, (step - warmup) / (steps - warmup))
        return lowest_factor + (1 - lowest_factor) * (1 + cos(pi * done)) / 2

    return factor


@dataclass(frozen=True, kw_only=True)
class Plateau:
    """Reduces the learning rate when validations stop improving.

    The rate is multiplied by `factor` after every `patience` validations in a row without
    improvement, down to `lowest_factor` of it. The training state counts the reductions.
    """

    factor: float = 0.5
    patience: int = 2
    lowest_factor: float = 0.0

    def reduces(self, validations_since_best: int) -> bool:
        """Whether the rate is reduced after this number of validations without improvement."""
        return validations_since_best > 0 and validations_since_best % self.patience == 0

    def factor_after(self, reductions: int) -> float:
        """The factor on the learning rate after this number of reductions."""
        return max(self.lowest_factor, self.factor**reductions)
