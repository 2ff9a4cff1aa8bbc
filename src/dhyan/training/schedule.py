"""The learning rate as a function of the step: a factor on the recipe's rate."""

from collections.abc import Callable

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
