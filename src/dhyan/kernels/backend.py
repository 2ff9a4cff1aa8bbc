"""Kernel backend: decide per call between the PyTorch reference and a fused kernel."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

from dhyan.cpu_engine.library import library_target

_reference: ContextVar[bool] = ContextVar("reference", default=False)
_interpreter: ContextVar[bool] = ContextVar("interpreter", default=False)


@contextmanager
def reference_kernels() -> Iterator[None]:
    """Inside the block only the definitions run, so every attention returns its weights."""
    token = _reference.set(True)
    try:
        yield
    finally:
        _reference.reset(token)


@contextmanager
def triton_interpreter() -> Iterator[None]:
    """Inside the block Triton kernels also run on CPU tensors, by Triton's interpreter: for tests.

    Triton takes the interpreter if TRITON_INTERPRET=1 is set before it is imported.
    """
    token = _interpreter.set(True)
    try:
        yield
    finally:
        _interpreter.reset(token)


def fusable() -> bool:
    """Whether a fused kernel may replace the definition here."""
    return torch.compiler.is_compiling() or not _reference.get()


def use_triton(tensor: Tensor) -> bool:
    """Whether a Triton kernel may replace the definition and can take this tensor."""
    return fusable() and (tensor.is_cuda or _interpreter.get()) and _has_triton()


def use_training_kernels(training: bool, tensor: Tensor) -> bool:
    """Whether the kernels written for training run: in training, in single or half precision."""
    return training and tensor.dtype != torch.float64 and tensor.numel() > 0 and use_triton(tensor)


def use_cpu_kernels(training: bool, tensor: Tensor) -> bool:
    """Whether the compiled kernels for training on a CPU run, in float32 or bfloat16."""
    return (
        training
        and not _reference.get()
        and not torch.compiler.is_compiling()
        and tensor.device.type == "cpu"
        and tensor.dtype in (torch.float32, torch.bfloat16)
        and tensor.numel() > 0
        and not _interpreter.get()
        and library_target() is not None
    )


def product_dtype(x: Tensor) -> torch.dtype:
    """The dtype in which matrix products of x run: autocast's where it is on, else that of x."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
