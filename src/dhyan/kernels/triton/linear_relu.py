"""A linear map, bent by max(0, ·) and thinned out: the wide half of a feed-forward network."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from dhyan.kernels.triton.column_sum import sum_parts
from dhyan.kernels.triton.dropout import drawn_seed, kept, threshold

ROWS, ACROSS = 16, 128
PROGRAMS = 2112  # that work backwards, each on every so many rows: 16 for each multiprocessor


def rectified_linear(
    x: Float[Tensor, "B N D"],
    weight: Float[Tensor, "W D"],
    bias: Float[Tensor, " W"],
    *,
    dropout: float,
) -> Float[Tensor, "B N W"]:
    """dropout(max(0, x weightᵀ + bias))."""
    device = x.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
    with torch.autocast(device, enabled=False):
        return _Rectified.apply(x.to(kind), weight.to(kind), bias.to(kind), dropout)


class _Rectified(torch.autograd.Function):
    """What is zero in the result, bent away or dropped, has no gradient: the result tells all."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "B N D"],
        weight: Float[Tensor, "W D"],
        bias: Float[Tensor, " W"],
        dropout: float,
    ) -> Float[Tensor, "B N W"]:
        wide = functional.linear(x, weight, bias)
        count, width = wide.numel() // len(weight), len(weight)
        grid = triton.cdiv(count, ROWS), triton.cdiv(width, ACROSS)
        _bend[grid](
            wide,
            drawn_seed(x.device) if dropout else None,
            count,
            width,
            threshold(dropout),
            1 / (1 - dropout),
            THINNED=bool(dropout),
            ROWS=ROWS,
            ACROSS=ACROSS,
        )
        ctx.save_for_backward(x, weight, wide)
        ctx.dropout = dropout
        return wide

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_wide: Float[Tensor, "B N W"]) -> tuple[Tensor | None, ...]:
        x, weight, wide = ctx.saved_tensors
        of_wide, bent = of_wide.contiguous(), torch.empty_like(wide)
        count, width = wide.numel() // len(weight), len(weight)
        blocks = triton.cdiv(width, ACROSS)
        strips = max(1, min(triton.cdiv(PROGRAMS, blocks), triton.cdiv(count, ROWS)))
        sums = torch.empty((strips, width), dtype=torch.float32, device=x.device)
        _unbend[(strips, blocks)](
            of_wide,
            wide,
            bent,
            sums,
            count,
            width,
            1 / (1 - ctx.dropout),
            ROWS=ROWS,
            ACROSS=ACROSS,
        )
        flat = bent.flatten(0, -2)
        of_x = (flat @ weight).view_as(x)
        return of_x, flat.t() @ x.flatten(0, -2), sum_parts(sums, weight.dtype), None


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _bend(
    wide, seed, count, width, dropped, raised,
    THINNED: tl.constexpr, ROWS: tl.constexpr, ACROSS: tl.constexpr,
):  # fmt: skip
    """A tile, in its place."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * ACROSS + tl.arange(0, ACROSS)
    places = wide + rows.to(tl.int64)[:, None] * width + columns[None, :]
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    numbers = tl.maximum(tl.load(places, inside, other=0.0).to(tl.float32), 0.0)
    if THINNED:
        numbers = tl.where(kept(seed, rows, columns, dropped), numbers * raised, 0.0)
    tl.store(places, numbers.to(wide.dtype.element_ty), inside)


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _unbend(
    of_wide, wide, bent, sums, count, width, raised, ROWS: tl.constexpr, ACROSS: tl.constexpr
):
    """Some columns of every so many rows, and their sum."""
    strip, strips = tl.program_id(0), tl.num_programs(0)
    columns = tl.program_id(1) * ACROSS + tl.arange(0, ACROSS)
    total = tl.zeros((ROWS, ACROSS), tl.float32)
    for start in range(strip * ROWS, count, strips * ROWS):
        rows = start + tl.arange(0, ROWS)
        places = rows.to(tl.int64)[:, None] * width + columns[None, :]
        inside = (rows < count)[:, None] & (columns < width)[None, :]
        alive = tl.load(wide + places, inside, other=0.0) > 0
        given = tl.load(of_wide + places, inside, other=0.0).to(tl.float32)
        given = tl.where(alive, given * raised, 0.0)
        total += given
        tl.store(bent + places, given.to(bent.dtype.element_ty), inside)
    tl.store(sums + strip * width + columns, tl.sum(total, 0), columns < width)
