"""Deterministic algorithms: the same bits every time, on a GPU too."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORKSPACE = ":4096:8"  # cuBLAS needs this for a fixed order of sums; it is read when CUDA starts


@contextmanager
def deterministic_algorithms(enabled: bool) -> Iterator[None]:
    """Inside the block PyTorch uses deterministic algorithms only, if `enabled`."""
    if not enabled:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    lenient = torch.is_deterministic_algorithms_warn_only_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", WORKSPACE)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=lenient)


def deterministic_flags() -> str:
    """Which deterministic settings of PyTorch are on; "none" if none is."""
    flags = {
        "algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn": torch.backends.cudnn.deterministic,
    }
    return " and ".join(name for name, on in flags.items() if on) or "none"
