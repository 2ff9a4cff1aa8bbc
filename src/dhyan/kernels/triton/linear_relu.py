"""Linear layer with ReLU and dropout fused in Triton; the matrix product is PyTorch's."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from dhyan.kernels.backend import product_dtype
from dhyan.kernels.triton.column_sum import sum_partials
from dhyan.kernels.triton.dropout import draw_seed, dropout_arguments, dropout_tile

ROWS, COLUMNS = 16, 128
BACKWARD_PROGRAMS = 2112  # each on a strided set of rows: 16 for each multiprocessor


def linear_relu(
    x: Float[Tensor, "B N D"],
    weight: Float[Tensor, "W D"],
    bias: Float[Tensor, " W"],
    *,
    dropout: float,
) -> Float[Tensor, "B N W"]:
    """dropout(max(0, x weightᵀ + bias))."""
    dtype = product_dtype(x)
    with torch.autocast(x.device.type, enabled=False):
        return _LinearRelu.apply(x.to(dtype), weight.to(dtype), bias.to(dtype), dropout)


class _LinearRelu(torch.autograd.Function):
    """An output of zero, by ReLU or dropout, has no gradient: the output is all that is saved."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "B N D"],
        weight: Float[Tensor, "W D"],
        bias: Float[Tensor, " W"],
        dropout: float,
    ) -> Float[Tensor, "B N W"]:
        hidden = functional.linear(x, weight, bias)
        count, width = hidden.numel() // len(weight), len(weight)
        grid = triton.cdiv(count, ROWS), triton.cdiv(width, COLUMNS)
        _relu_dropout[grid](
            hidden,
            draw_seed(x.device) if dropout else None,
            count,
            width,
            *dropout_arguments(dropout),
            DROPOUT=bool(dropout),
            ROWS=ROWS,
            COLUMNS=COLUMNS,
        )
        ctx.save_for_backward(x, weight, hidden)
        ctx.dropout = dropout
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_hidden: Float[Tensor, "B N W"]) -> tuple[Tensor | None, ...]:
        x, weight, hidden = ctx.saved_tensors
        grad_hidden, grad_linear = grad_hidden.contiguous(), torch.empty_like(hidden)
        count, width = hidden.numel() // len(weight), len(weight)
        blocks = triton.cdiv(width, COLUMNS)
        strips = max(1, min(triton.cdiv(BACKWARD_PROGRAMS, blocks), triton.cdiv(count, ROWS)))
        sums = torch.empty((strips, width), dtype=torch.float32, device=x.device)
        _relu_dropout_backward[(strips, blocks)](
            grad_hidden,
            hidden,
            grad_linear,
            sums,
            count,
            width,
            1 / (1 - ctx.dropout),
            ROWS=ROWS,
            COLUMNS=COLUMNS,
        )
        flat_grad = grad_linear.flatten(0, -2)
        grad_x = (flat_grad @ weight).view_as(x)
        return grad_x, flat_grad.t() @ x.flatten(0, -2), sum_partials(sums, weight.dtype), None


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _relu_dropout(
    hidden, seed, count, width, threshold, scale,
    DROPOUT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """ReLU and dropout of a tile, in place."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    offsets = hidden + rows.to(tl.int64)[:, None] * width + columns[None, :]
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    x = tl.maximum(tl.load(offsets, inside, other=0.0).to(tl.float32), 0.0)
    if DROPOUT:
        x = dropout_tile(x, seed, rows, columns, threshold, scale)
    tl.store(offsets, x.to(hidden.dtype.element_ty), inside)


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _relu_dropout_backward(
    grad_hidden,
    hidden,
    grad_linear,
    sums,
    count,
    width,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """The gradient of some columns in a strided set of rows, and its sum for the bias."""
    strip, strips = tl.program_id(0), tl.num_programs(0)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(strip * ROWS, count, strips * ROWS):
        rows = start + tl.arange(0, ROWS)
        offsets = rows.to(tl.int64)[:, None] * width + columns[None, :]
        inside = (rows < count)[:, None] & (columns < width)[None, :]
        active = tl.load(hidden + offsets, inside, other=0.0) > 0
        grad = tl.load(grad_hidden + offsets, inside, other=0.0).to(tl.float32)
        grad = tl.where(active, grad * scale, 0.0)
        total += grad
        tl.store(grad_linear + offsets, grad.to(grad_linear.dtype.element_ty), inside)
    tl.store(sums + strip * width + columns, tl.sum(total, 0), columns < width)
