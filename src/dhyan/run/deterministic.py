"""The same bits every time, on a GPU too."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORKSPACE = ":4096:8"  # what cuBLAS needs to add up in one order; it looks when CUDA begins


@contextmanager
def deterministic_algorithms(wanted: bool) -> Iterator[None]:
    """Inside the block PyTorch computes in one way only, if so wanted, where a GPU has several."""
    if not wanted:
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
