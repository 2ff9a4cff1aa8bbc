"""Which arithmetic runs: the definition of an attention, or a fused kernel that equals it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_defined: ContextVar[bool] = ContextVar("defined", default=False)


@contextmanager
def by_definition() -> Iterator[None]:
    """Inside the block no kernel is fused, so every attention has weights to show."""
    before = _defined.set(True)
    try:
        yield
    finally:
        _defined.reset(before)


def may_fuse() -> bool:
    """Whether a fused kernel may stand in for the definition here."""
    return torch.compiler.is_compiling() or not _defined.get()
