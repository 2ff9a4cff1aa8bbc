"""Dropout in Triton kernels: the mask is recomputed from a seed, not stored."""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Int
from torch import Tensor


def draw_seed(device: torch.device) -> Int[Tensor, "1"]:
    """A seed from torch's generator, drawn on the device itself."""
    return torch.randint(2**62, (1,), device=device)


def dropout_arguments(rate: float) -> tuple[int, float]:
    """What a kernel takes: the 31-bit number below which a hash drops its element, and the scale."""
    return int(rate * 2**31), 1 / (1 - rate)


@triton.jit
@no_type_check
def dropout_tile(x, seed, rows, columns, threshold, scale):
    """Dropout (Srivastava et al., 2014): zeros at random, and x · scale elsewhere."""
    return tl.where(keep_mask(seed, rows, columns, threshold), x * scale, 0.0)


@triton.jit
@no_type_check
def keep_mask(seed, rows, columns, threshold):
    """True where an element is kept; the same in every call with the same seed.

    The row and the seed are hashed into a key, and the column into that.
    """
    bits = tl.load(seed)
    low, high = bits.to(tl.uint32), (bits >> 32).to(tl.uint32)
    keys = _mix_bits(_mix_bits(rows.to(tl.uint32) ^ low) ^ high)
    hashes = keys[:, None] ^ (columns.to(tl.uint32) * 0x9E3779B1)[None, :]
    return (_mix_bits(hashes) >> 1).to(tl.int32) >= threshold


@triton.jit
@no_type_check
def _mix_bits(x):
    """A hash in which every bit depends on every bit of x."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)
