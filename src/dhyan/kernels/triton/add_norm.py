"""Triton: residual sum and layer norm in one pass: residual + dropout(update), and its norm."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.backend import product_dtype
from dhyan.kernels.triton.column_sum import sum_partials
from dhyan.kernels.triton.dropout import draw_seed, dropout_arguments, dropout_tile
from dhyan.kernels.triton.layer_norm import centre

PROGRAMS = 1056  # of the backward pass: eight for each multiprocessor of a large GPU


def add_dropout(
    x: Float[Tensor, "B N D"], update: Float[Tensor, "B N D"], *, dropout: float
) -> Float[Tensor, "B N D"]:
    """x + dropout(update)."""
    return _AddDropout.apply(x, update, dropout)


def add_norm(
    x: Float[Tensor, "B N D"],
    update: Float[Tensor, "B N D"] | None,
    weight: Float[Tensor, " D"],
    bias: Float[Tensor, " D"],
    *,
    dropout: float,
    epsilon: float,
) -> tuple[Float[Tensor, "B N D"], Float[Tensor, "B N D"]]:
    """The sum x + dropout(update), or x itself without an update, and its layer norm.

    The norm has the dtype of autocast, else that of x; it is computed in single precision.
    """
    return _AddNorm.apply(x, update, weight, bias, dropout, epsilon, product_dtype(x))


class _AddDropout(torch.autograd.Function):
    """The backward pass draws the same dropout mask again from the seed."""

    @staticmethod
    def forward(
        ctx: Any, x: Float[Tensor, "B N D"], update: Float[Tensor, "B N D"], dropout: float
    ) -> Float[Tensor, "B N D"]:
        seed = draw_seed(x.device)
        total = torch.empty_like(x, memory_format=torch.contiguous_format)
        _launch_forward(x.contiguous(), update.contiguous(), total, seed, dropout)
        ctx.save_for_backward(seed)
        ctx.dropout, ctx.dtype = dropout, update.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_total: Float[Tensor, "B N D"]) -> tuple[Tensor | None, ...]:
        (seed,) = ctx.saved_tensors
        grad_update = torch.empty_like(
            grad_total, dtype=ctx.dtype, memory_format=torch.contiguous_format
        )
        width = grad_total.shape[-1]
        count, tile = grad_total.numel() // max(width, 1), row_tile(width)
        _dropout_rows[(triton.cdiv(count, tile["ROWS"]),)](
            grad_total.contiguous(),
            grad_update,
            seed,
            count,
            width,
            *dropout_arguments(ctx.dropout),
            **tile,
        )
        return grad_total, grad_update, None


class _AddNorm(torch.autograd.Function):
    """The sum is saved for the backward pass, with the mean and deviation of its rows."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "B N D"],
        update: Float[Tensor, "B N D"] | None,
        weight: Float[Tensor, " D"],
        bias: Float[Tensor, " D"],
        dropout: float,
        epsilon: float,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        x = x.contiguous()
        seed = draw_seed(x.device) if update is not None and dropout else None
        total = x if update is None else torch.empty_like(x)
        normed = torch.empty_like(x, dtype=dtype)
        rows = x.numel() // x.shape[-1]
        moments = torch.empty((2, rows), dtype=torch.float32, device=x.device)
        contiguous_update = None if update is None else update.contiguous()
        _launch_forward(
            x, contiguous_update, total, seed, dropout, (normed, weight, bias, moments, epsilon)
        )
        ctx.save_for_backward(total, weight, moments, seed)
        ctx.dropout, ctx.update_dtype = dropout, None if update is None else update.dtype
        ctx.set_materialize_grads(False)
        return total, normed

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_total: Tensor | None, grad_normed: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        total, weight, moments, seed = ctx.saved_tensors
        if grad_normed is None:
            grad_normed = torch.zeros_like(total)
        grad_x = torch.empty_like(total)
        dropped_out = ctx.update_dtype is not None and bool(ctx.dropout)
        grad_update = torch.empty_like(total, dtype=ctx.update_dtype) if dropped_out else None
        width = total.shape[-1]
        count, tile = total.numel() // width, row_tile(width, 1024)  # its sums need registers too
        programs = min(PROGRAMS, triton.cdiv(count, tile["ROWS"])) or 1
        sums = torch.empty((programs, 2, width), dtype=torch.float32, device=total.device)
        _add_norm_backward[(programs,)](
            grad_normed.contiguous(),
            None if grad_total is None else grad_total.contiguous(),
            total,
            weight,
            moments,
            grad_x,
            grad_update,
            sums,
            seed,
            count,
            width,
            *dropout_arguments(ctx.dropout),
            HAS_GRAD_TOTAL=grad_total is not None,
            DROPOUT=dropped_out,
            **tile,
        )
        grad_weight, grad_bias = sum_partials(sums.flatten(1), weight.dtype).view(2, width)
        if ctx.update_dtype is not None and not dropped_out:
            grad_update = grad_x.to(ctx.update_dtype)
        return grad_x, grad_update, grad_weight, grad_bias, None, None, None


def _launch_forward(
    x: Tensor,
    update: Tensor | None,
    total: Tensor,
    seed: Tensor | None,
    dropout: float,
    norm: tuple[Tensor, Tensor, Tensor, Tensor, float] | None = None,
) -> None:
    width = x.shape[-1]
    count, tile = x.numel() // max(width, 1), row_tile(width)
    normed, weight, bias, moments, epsilon = norm or (None, None, None, None, 0.0)
    _add_norm_kernel[(triton.cdiv(count, tile["ROWS"]),)](
        x,
        update,
        total,
        normed,
        weight,
        bias,
        moments,
        seed,
        count,
        width,
        epsilon,
        *dropout_arguments(dropout),
        HAS_UPDATE=update is not None,
        DROPOUT=update is not None and bool(dropout),
        HAS_NORM=norm is not None,
        **tile,
    )


def row_tile(width: int, elements: int = 2048) -> dict[str, int]:
    """How many rows a program takes at once, so that it holds about so many elements."""
    columns = triton.next_power_of_2(width)
    rows = max(1, elements // columns)
    return {"ROWS": rows, "COLUMNS": columns, "num_warps": min(16, max(1, columns * rows // 512))}


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _add_norm_kernel(
    x, update, total, normed, weight, bias, moments, seed, count, width, epsilon, threshold, scale,
    HAS_UPDATE: tl.constexpr, DROPOUT: tl.constexpr, HAS_NORM: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """A few rows: add, round to the dtype of the sum, normalise."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    offsets = rows.to(tl.int64)[:, None] * width + columns[None, :]
    real_columns = (columns < width)[None, :]
    inside = (rows < count)[:, None] & real_columns
    sums = tl.load(x + offsets, inside, other=0.0).to(tl.float32)
    if HAS_UPDATE:
        added = tl.load(update + offsets, inside, other=0.0).to(tl.float32)
        if DROPOUT:
            added = dropout_tile(added, seed, rows, columns, threshold, scale)
        rounded = (sums + added).to(total.dtype.element_ty)
        tl.store(total + offsets, rounded, inside)
        sums = rounded.to(tl.float32)
    if HAS_NORM:
        centred, mean, rate = centre(sums, real_columns, width, epsilon, 1)
        tl.store(moments + rows, mean, rows < count)
        tl.store(moments + count + rows, rate, rows < count)
        gain = tl.load(weight + columns, columns < width, other=0.0).to(tl.float32)
        shift = tl.load(bias + columns, columns < width, other=0.0).to(tl.float32)
        result = centred * rate[:, None] * gain[None, :] + shift[None, :]
        tl.store(normed + offsets, result.to(normed.dtype.element_ty), inside)


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _add_norm_backward(
    grad_normed, grad_total, total, weight, moments, grad_x, grad_update, sums, seed, count, width,
    threshold, scale, HAS_GRAD_TOTAL: tl.constexpr, DROPOUT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The gradients of x and of the update, for a strided set of rows."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    columns = tl.arange(0, COLUMNS)
    real_columns = columns < width
    gain = tl.load(weight + columns, real_columns, other=0.0).to(tl.float32)
    weight_sum = tl.zeros((ROWS, COLUMNS), tl.float32)
    bias_sum = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(program * ROWS, count, programs * ROWS):
        rows = start + tl.arange(0, ROWS)
        offsets = rows.to(tl.int64)[:, None] * width + columns[None, :]
        inside = (rows < count)[:, None] & real_columns[None, :]
        grad = tl.load(grad_normed + offsets, inside, other=0.0).to(tl.float32)
        mean = tl.load(moments + rows, rows < count, other=0.0)
        rate = tl.load(moments + count + rows, rows < count, other=0.0)
        standardized = tl.load(total + offsets, inside, other=0.0).to(tl.float32)
        standardized = tl.where(inside, (standardized - mean[:, None]) * rate[:, None], 0.0)
        weight_sum += grad * standardized
        bias_sum += grad
        grad *= gain[None, :]
        mean_grad, mean_grad_level = tl.sum(grad, 1) / width, tl.sum(grad * standardized, 1) / width
        result = (grad - mean_grad[:, None] - standardized * mean_grad_level[:, None]) * rate[
            :, None
        ]
        if HAS_GRAD_TOTAL:
            result += tl.load(grad_total + offsets, inside, other=0.0).to(tl.float32)
        tl.store(grad_x + offsets, result.to(grad_x.dtype.element_ty), inside)
        if DROPOUT:
            result = dropout_tile(result, seed, rows, columns, threshold, scale)
            tl.store(grad_update + offsets, result.to(grad_update.dtype.element_ty), inside)
    sums += program * 2 * width + columns
    tl.store(sums, tl.sum(weight_sum, 0), real_columns)
    tl.store(sums + width, tl.sum(bias_sum, 0), real_columns)


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _dropout_rows(
    grad,
    dropped_out,
    seed,
    count,
    width,
    threshold,
    scale,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Dropout of a few rows."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    offsets = rows.to(tl.int64)[:, None] * width + columns[None, :]
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    x = tl.load(grad + offsets, inside, other=0.0).to(tl.float32)
    x = dropout_tile(x, seed, rows, columns, threshold, scale)
    tl.store(dropped_out + offsets, x.to(dropped_out.dtype.element_ty), inside)
