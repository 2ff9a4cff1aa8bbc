"""Dropout inside kernels: which numbers stay follows from a seed and their place alone."""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Int
from torch import Tensor


def drawn_seed(device: torch.device) -> Int[Tensor, "1"]:
    """A seed from torch's generator of the device, without leaving it."""
    return torch.randint(2**62, (1,), device=device)


def threshold(rate: float) -> int:
    """The share of all 31-bit numbers that is dropped."""
    return int(rate * 2**31)


@triton.jit
@no_type_check
def kept(seed, rows, columns, dropped):
    """Whether each number of some rows and columns stays; the same whenever it is asked.

    The row and the seed are mixed into a key, and the column into that.
    """
    drawn = tl.load(seed)
    low, high = drawn.to(tl.uint32), (drawn >> 32).to(tl.uint32)
    keys = _mixed(_mixed(rows.to(tl.uint32) ^ low) ^ high)
    places = keys[:, None] ^ (columns.to(tl.uint32) * 0x9E3779B1)[None, :]
    return (_mixed(places) >> 1).to(tl.int32) >= dropped


@triton.jit
@no_type_check
def _mixed(numbers):
    """A number in which every bit depends on every bit of the one given."""
    numbers = (numbers ^ (numbers >> 16)) * 0x7FEB352D
    numbers = (numbers ^ (numbers >> 15)) * 0x846CA68B
    return numbers ^ (numbers >> 16)
