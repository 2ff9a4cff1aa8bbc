"""Scores become weights: a softmax over what is seen, in one pass, gradients too."""

from typing import Any, no_type_check

import torch
import triton
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from triton import language as tl


def weigh(
    scores: Float[Tensor, "B H T S"], seen: Bool[Tensor, "#B #H T S"], dtype: torch.dtype
) -> Float[Tensor, "B H T S"]:
    """Weights that sum to one over what is seen; all are zero where nothing is."""
    return _Weigh.apply(scores, seen, dtype)


class _Weigh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, seen: Tensor, dtype: torch.dtype) -> Tensor:
        scores, seen = scores.contiguous(), seen.expand(scores.shape)
        weights = torch.empty_like(scores, dtype=dtype)
        heads, queries, positions = scores.shape[1:]
        grid, rows, columns = _grid(scores)
        _weights_of_rows[grid](
            scores, seen, weights, scores[..., 0].numel(), heads, queries, positions,
            *seen.stride(), ROWS=rows, COLUMNS=columns,
        )  # fmt: skip
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor, None, None]:
        (weights,) = ctx.saved_tensors
        given = torch.empty_like(weights, dtype=torch.float32)
        grid, rows, columns = _grid(weights)
        _slopes_of_rows[grid](
            weights, slopes.contiguous(), given, weights[..., 0].numel(), weights.shape[-1],
            ROWS=rows, COLUMNS=columns,
        )  # fmt: skip
        return given, None, None


def _grid(scores: Float[Tensor, "B H T S"]) -> tuple[tuple[int], int, int]:
    """How many programs, and how many rows and columns each of them holds."""
    columns = triton.next_power_of_2(scores.shape[-1])
    rows = max(1, 1024 // columns)
    return (triton.cdiv(scores[..., 0].numel(), rows),), rows, columns


@triton.jit
@no_type_check
def softmax_of_one(scores, seen):
    """The weights of one query: zero where nothing is seen."""
    grown = tl.where(seen, scores, float("-inf"))
    top = tl.max(grown, axis=0)
    grown = tl.where(seen, tl.exp(grown - top), 0.0)
    total = tl.sum(grown, axis=0)
    return grown / tl.where(total == 0.0, 1.0, total)


@triton.jit
@no_type_check
def _weights_of_rows(
    scores,
    seen,
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
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    real = (rows < count)[:, None] & (columns < positions)[None, :]
    sight = rows // (heads * queries) * batch_stride
    sight += rows // queries % heads * head_stride + rows % queries * query_stride
    sight = sight[:, None] + columns[None, :] * position_stride
    visible = tl.load(seen + sight, mask=real, other=0) != 0
    places = rows[:, None] * positions + columns[None, :]
    grown = tl.load(scores + places, mask=real, other=0.0)
    grown = tl.where(visible, grown, float("-inf"))
    top = tl.max(grown, axis=1)
    grown = tl.where(visible, tl.exp(grown - top[:, None]), 0.0)
    total = tl.sum(grown, axis=1)
    shares = grown / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(weights + places, shares.to(weights.dtype.element_ty), mask=real)


@triton.jit
@no_type_check
def _slopes_of_rows(
    weights, slopes, given, count, positions, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """d score = weight · (d weight − Σ weight · d weight)."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    real = (rows < count)[:, None] & (columns < positions)[None, :]
    places = rows[:, None] * positions + columns[None, :]
    shares = tl.load(weights + places, mask=real, other=0.0).to(tl.float32)
    steep = tl.load(slopes + places, mask=real, other=0.0).to(tl.float32)
    mean = tl.sum(shares * steep, axis=1)
    tl.store(given + places, shares * (steep - mean[:, None]), mask=real)
