"""Triton: masked softmax, a device function of attention kernels and a kernel with gradients."""

from typing import Any, no_type_check

import torch
import triton
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from triton import language as tl


@triton.jit
@no_type_check
def softmax(scores, mask, AXIS: tl.constexpr, BASE: tl.constexpr):
    """Softmax over the unmasked scores of a query (AXIS 0) or of rows of queries (AXIS 1).

    Zeros where everything is masked. With BASE 2, the scores are multiplied by log₂ e already.
    """
    scores = tl.where(mask, scores, float("-inf"))
    highest = tl.max(scores, AXIS)
    highest = tl.where(highest == float("-inf"), 0.0, highest)
    shifted = scores - (highest[:, None] if AXIS == 1 else highest)
    powers = tl.exp2(shifted) if BASE == 2 else tl.exp(shifted)
    total = tl.sum(powers, AXIS)
    total = tl.where(total == 0.0, 1.0, total)
    return powers / (total[:, None] if AXIS == 1 else total)


@triton.jit
@no_type_check
def softmax_backward(weights, grad_weights, AXIS: tl.constexpr):
    """grad score = weight · (grad weight − Σ weight · grad weight), over AXIS as in `softmax`."""
    mean = tl.sum(weights * grad_weights, AXIS)
    return weights * (grad_weights - (mean[:, None] if AXIS == 1 else mean))


def masked_softmax(
    scores: Float[Tensor, "B H T S"], mask: Bool[Tensor, "#B #H T S"], dtype: torch.dtype
) -> Float[Tensor, "B H T S"]:
    """Weights that sum to one over the unmasked positions; zeros where everything is masked."""
    return _MaskedSoftmax.apply(scores, mask, dtype)


class _MaskedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor, dtype: torch.dtype) -> Tensor:
        scores, mask = scores.contiguous(), mask.expand(scores.shape)
        weights = torch.empty_like(scores, dtype=dtype)
        heads, queries, positions = scores.shape[1:]
        grid, rows, columns = _grid(scores)
        _softmax_of_rows[grid](
            scores, mask, weights, scores[..., 0].numel(), heads, queries, positions,
            *mask.stride(), ROWS=rows, COLUMNS=columns,
        )  # fmt: skip
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_weights: Tensor) -> tuple[Tensor, None, None]:
        (weights,) = ctx.saved_tensors
        grad_scores = torch.empty_like(weights, dtype=torch.float32)
        grid, rows, columns = _grid(weights)
        _gradient_of_rows[grid](
            weights, grad_weights.contiguous(), grad_scores,
            weights[..., 0].numel(), weights.shape[-1], ROWS=rows, COLUMNS=columns,
        )  # fmt: skip
        return grad_scores, None, None


def _grid(scores: Float[Tensor, "B H T S"]) -> tuple[tuple[int], int, int]:
    """How many programs, and how many rows and columns each of them holds."""
    columns = triton.next_power_of_2(scores.shape[-1])
    rows = max(1, 1024 // columns)
    return (triton.cdiv(scores[..., 0].numel(), rows),), rows, columns


@triton.jit
@no_type_check
def _softmax_of_rows(
    scores,
    mask,
    weights,
    count,
    heads,
    queries,
    positions,
    batch_stride,
    head_stride,
    query_stride,
    position_stride,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """A few rows: the weights of their scores."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    inside = (rows < count)[:, None] & (columns < positions)[None, :]
    mask_rows = rows // (heads * queries) * batch_stride
    mask_rows += rows // queries % heads * head_stride + rows % queries * query_stride
    mask_offsets = mask_rows[:, None] + columns[None, :] * position_stride
    unmasked = tl.load(mask + mask_offsets, mask=inside, other=0) != 0
    offsets = rows[:, None] * positions + columns[None, :]
    tile = softmax(tl.load(scores + offsets, mask=inside, other=0.0), unmasked, AXIS=1, BASE=0)
    tl.store(weights + offsets, tile.to(weights.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def _gradient_of_rows(
    weights, grad_weights, grad_scores, count, positions, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """A few rows: the gradients of their scores."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    inside = (rows < count)[:, None] & (columns < positions)[None, :]
    offsets = rows[:, None] * positions + columns[None, :]
    tile = tl.load(weights + offsets, mask=inside, other=0.0).to(tl.float32)
    grad = tl.load(grad_weights + offsets, mask=inside, other=0.0).to(tl.float32)
    tl.store(grad_scores + offsets, softmax_backward(tile, grad, AXIS=1), mask=inside)
