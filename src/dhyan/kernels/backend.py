"""Which arithmetic runs: the definition of an attention, or a fused kernel that equals it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dhyan.kernels.reference import mix

Scores = Callable[[Tensor, Tensor], Tensor]
Kernel = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

_defined: ContextVar[bool] = ContextVar("defined", default=False)


@contextmanager
def by_definition() -> Iterator[None]:
    """Inside the block no kernel is fused, so every attention has weights to show."""
    before = _defined.set(True)
    try:
        yield
    finally:
        _defined.reset(before)


def look_up(
    query: Float[Tensor, "B H T Q"],
    keys: Float[Tensor, "B H S K"],
    values: Float[Tensor, "B H S E"],
    seen: Bool[Tensor, "B 1 T S"],
    *,
    scores: Scores,
    fused: Kernel | None,
) -> tuple[Float[Tensor, "B H T E"], Float[Tensor, "B H T S"] | None]:
    """Scores, weights and context in one kernel where there is one, else step by step."""
    if fused is None or (not torch.compiler.is_compiling() and _defined.get()):
        return mix(scores(query, keys), values, seen)
    return fused(query, keys, values, seen), None
