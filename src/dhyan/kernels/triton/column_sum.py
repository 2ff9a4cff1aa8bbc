"""Sums down the columns of a tall matrix, always in the same order: the gradients of biases."""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

STRIPS, TALL, WIDE = 64, 64, 64


def column_sums(
    numbers: Float[Tensor, "N W"], kind: torch.dtype = torch.float32
) -> Float[Tensor, " W"]:
    """The sum of every column, summed in single precision."""
    count, width = numbers.shape
    blocks = triton.cdiv(width, WIDE)
    strips = max(1, min(STRIPS, triton.cdiv(count, TALL)))
    parts = torch.empty((strips, width), dtype=torch.float32, device=numbers.device)
    _sum_strips[(strips, blocks)](
        numbers, parts, count, width, numbers.stride(0), TALL=TALL, WIDE=WIDE
    )
    return sum_parts(parts, kind)


def sum_parts(
    parts: Float[Tensor, "P W"], kind: torch.dtype = torch.float32
) -> Float[Tensor, " W"]:
    """The sum of a few hundred rows."""
    count, width = parts.shape
    total = torch.empty((width,), dtype=kind, device=parts.device)
    _sum_strips[(1, triton.cdiv(width, 8))](
        parts, total, count, width, width, TALL=256, WIDE=8, num_warps=8
    )
    return total


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _sum_strips(numbers, sums, count, width, step, TALL: tl.constexpr, WIDE: tl.constexpr):
    """One strip of some columns: every so many rows of them."""
    strip, strips = tl.program_id(0), tl.num_programs(0)
    columns = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    total = tl.zeros((TALL, WIDE), tl.float32)
    for start in range(strip * TALL, count, strips * TALL):
        rows = start + tl.arange(0, TALL)
        inside = (rows < count)[:, None] & (columns < width)[None, :]
        places = rows.to(tl.int64)[:, None] * step + columns[None, :]
        total += tl.load(numbers + places, inside, other=0.0).to(tl.float32)
    found = tl.sum(total, 0).to(sums.dtype.element_ty)
    tl.store(sums + strip * width + columns, found, columns < width)
