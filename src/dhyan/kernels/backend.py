"""Which arithmetic runs: the definition of an attention, or a fused kernel that equals it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor, nn

_defined: ContextVar[bool] = ContextVar("defined", default=False)
_interpreted: ContextVar[bool] = ContextVar("interpreted", default=False)


@contextmanager
def by_definition() -> Iterator[None]:
    """Inside the block no kernel is fused, so every attention has weights to show."""
    before = _defined.set(True)
    try:
        yield
    finally:
        _defined.reset(before)


@contextmanager
def interpreted() -> Iterator[None]:
    """Inside the block Triton's kernels also run on CPU tensors, by its interpreter: for tests.

    Triton takes the interpreter if TRITON_INTERPRET=1 is set before it is imported.
    """
    before = _interpreted.set(True)
    try:
        yield
    finally:
        _interpreted.reset(before)


def may_fuse() -> bool:
    """Whether a fused kernel may stand in for the definition here."""
    return torch.compiler.is_compiling() or not _defined.get()


def triton_runs(tensor: Tensor) -> bool:
    """Whether a Triton kernel can take this tensor and may stand in for the definition."""
    return may_fuse() and (tensor.is_cuda or _interpreted.get()) and _has_triton()


def hurries(part: nn.Module, numbers: Tensor) -> bool:
    """Whether the kernels of training may run: while a part learns, in single precision or half."""
    rounded = numbers.dtype != torch.float64 and numbers.numel() > 0
    return part.training and rounded and triton_runs(numbers)


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
