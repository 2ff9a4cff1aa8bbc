"""Matrix products in float32 on a CPU: by oneDNN where it keeps all their digits.

PyTorch computes them with MKL, which on AMD's CPUs does not use AVX-512; oneDNN does. PyTorch hands
them to oneDNN only if it may round to bfloat16, which oneDNN does where the CPU has matrix tiles (AMX).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

MATMUL = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]


@contextmanager
def fast_products() -> Iterator[None]:
    """Inside the block oneDNN computes float32 products, if it does so in full precision here."""
    if not _keeps_float32():
        yield
        return
    before = MATMUL.fp32_precision
    MATMUL.fp32_precision = "bf16"
    try:
        yield
    finally:
        MATMUL.fp32_precision = before


@cache
def _keeps_float32() -> bool:
    """Whether oneDNN, told that it may round, does not."""
    if not torch.backends.mkldnn.is_available():
        return False
    a = 1 + torch.arange(64 * 64, dtype=torch.float64).view(64, 64) / 2**14
    exact, before = a @ a, MATMUL.fp32_precision
    MATMUL.fp32_precision = "bf16"
    try:
        product = a.float() @ a.float()
    finally:
        MATMUL.fp32_precision = before
    return bool(((product.double() - exact).abs() <= 1e-6 * exact).all())
