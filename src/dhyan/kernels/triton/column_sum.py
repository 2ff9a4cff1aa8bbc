"""Triton: deterministic column sums of a tall matrix, for the gradients of biases."""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

MAX_STRIPS, ROWS, COLUMNS = 64, 64, 64


def column_sums(x: Float[Tensor, "N W"], dtype: torch.dtype = torch.float32) -> Float[Tensor, " W"]:
    """The sum of every column, accumulated in single precision."""
    count, width = x.shape
    blocks = triton.cdiv(width, COLUMNS)
    strips = max(1, min(MAX_STRIPS, triton.cdiv(count, ROWS)))
    partial_sums = torch.empty((strips, width), dtype=torch.float32, device=x.device)
    _sum_strips[(strips, blocks)](
        x, partial_sums, count, width, x.stride(0), ROWS=ROWS, COLUMNS=COLUMNS
    )
    return sum_partials(partial_sums, dtype)


def sum_partials(
    partial_sums: Float[Tensor, "P W"], dtype: torch.dtype = torch.float32
) -> Float[Tensor, " W"]:
    """The sum of a few hundred rows."""
    count, width = partial_sums.shape
    total = torch.empty((width,), dtype=dtype, device=partial_sums.device)
    _sum_strips[(1, triton.cdiv(width, 8))](
        partial_sums, total, count, width, width, ROWS=256, COLUMNS=8, num_warps=8
    )
    return total


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _sum_strips(x, sums, count, width, step, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The sum of some columns over a strided set of rows."""
    strip, strips = tl.program_id(0), tl.num_programs(0)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(strip * ROWS, count, strips * ROWS):
        rows = start + tl.arange(0, ROWS)
        inside = (rows < count)[:, None] & (columns < width)[None, :]
        offsets = rows.to(tl.int64)[:, None] * step + columns[None, :]
        total += tl.load(x + offsets, inside, other=0.0).to(tl.float32)
    column_sum = tl.sum(total, 0).to(sums.dtype.element_ty)
    tl.store(sums + strip * width + columns, column_sum, columns < width)
