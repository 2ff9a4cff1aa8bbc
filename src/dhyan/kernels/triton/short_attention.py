"""Triton: fused dot-product attention for short sequences, whose scores one program holds."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.fused_projections import are_adjacent, empty_like_layout
from dhyan.kernels.triton.masked_softmax import softmax, softmax_backward

MAX_LENGTH, MAX_WIDTH = 128, 128  # what one program can hold


def is_short(
    query: Float[Tensor, "B H T E"],
    keys: Float[Tensor, "B G S E"],
    values: Float[Tensor, "B G S V"],
) -> bool:
    """Whether one program can hold all their scores, computed by the GPU's matrix units."""
    same_shape_and_dtype = keys.shape == values.shape and query.dtype == keys.dtype == values.dtype
    lengths = query.shape[2], keys.shape[2]
    fits = 0 < min(lengths) <= max(lengths) <= MAX_LENGTH and query.shape[3] <= MAX_WIDTH
    return same_shape_and_dtype and fits and (query.dtype != torch.float32 or not query.is_cuda)


def short_attention(
    query: Float[Tensor, "B H T E"],
    keys: Float[Tensor, "B G S E"],
    values: Float[Tensor, "B G S E"],
    mask: Bool[Tensor, "B S"],
    *,
    causal: bool,
    scale: float,
) -> Float[Tensor, "B H T E"]:
    """softmax(scale · q kᵀ) v in every head; with fewer heads of keys, several share one.

    The padding mask and, if `causal`, the positions after the query are masked; the last query
    stands at the last position. A query that may attend to nothing gets zeros. Heads that are
    adjacent in memory are read and written in that layout.
    """
    width = query.shape[-1]
    packed = (part.transpose(1, 2).flatten(-2) for part in (query, keys, values))
    context = _ShortAttention.apply(*packed, mask.contiguous(), width, causal, scale)
    return context.unflatten(-1, (-1, width)).transpose(1, 2)


class _ShortAttention(torch.autograd.Function):
    """Only the inputs are saved: the backward pass computes the weights again."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Float[Tensor, "B T W"],
        keys: Float[Tensor, "B S K"],
        values: Float[Tensor, "B S K"],
        mask: Bool[Tensor, "B S"],
        width: int,
        causal: bool,
        scale: float,
    ) -> Float[Tensor, "B T W"]:
        context = torch.empty_like(query, memory_format=torch.contiguous_format)
        ctx.save_for_backward(query, keys, values, mask)
        ctx.sizes = width, causal, scale
        _launch(_attention_kernel, (query, keys, values, context), mask, *ctx.sizes)
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_context: Float[Tensor, "B T W"]) -> tuple[Tensor | None, ...]:
        query, keys, values, mask = ctx.saved_tensors
        if grad_context.stride(-1) != 1:
            grad_context = grad_context.contiguous()
        if are_adjacent((query, keys, values)):
            grads = empty_like_layout((query, keys, values))
        else:
            grads = [*empty_like_layout((query,)), *empty_like_layout((keys, values))]
        _launch(_attention_backward, (query, keys, values, grad_context, *grads), mask, *ctx.sizes)
        return *grads, None, None, None, None


def _launch(
    kernel: Any,
    tensors: tuple[Tensor, ...],
    mask: Bool[Tensor, "B S"],
    width: int,
    causal: bool,
    scale: float,
) -> None:
    """One program per sentence and head of keys."""
    query, keys = tensors[:2]
    (rows, queries, packed_width), positions = query.shape, keys.shape[1]
    groups = keys.shape[2] // width
    strides = [stride for tensor in tensors for stride in tensor.stride()[:2]]
    length = max(16, triton.next_power_of_2(max(queries, positions)))
    if not rows * groups:
        return
    kernel[(rows * groups,)](
        *tensors,
        mask,
        *strides,
        queries,
        positions,
        positions - queries if causal else positions,
        scale * 1.4426950408889634,  # exp(x) = 2 ** (x / ln 2)
        scale,
        GROUPS=groups,
        SHARED_HEADS=packed_width // (groups * width),
        WIDTH=width,
        COLUMNS=triton.next_power_of_2(max(16, width)),
        LENGTH=length,
        INTERPRETED=not query.is_cuda,
        num_warps=_warps(length),
        num_stages=1,
    )


def _warps(length: int) -> int:
    """More threads for more scores."""
    return min(8, max(1, length * length // 1024))


@triton.jit(do_not_specialize=["queries", "positions", "diagonal"])
@no_type_check
def _attention_kernel(
    query, keys, values, context, mask,
    query_row, query_step, keys_row, keys_step, values_row, values_step, context_row, context_step,
    queries, positions, diagonal, scale, _,
    GROUPS: tl.constexpr, SHARED_HEADS: tl.constexpr, WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr, LENGTH: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """Every query head that shares these keys, one after the other."""
    row, group = (tl.program_id(0) // GROUPS).to(tl.int64), tl.program_id(0) % GROUPS
    positions_tile, columns = tl.arange(0, LENGTH), tl.arange(0, COLUMNS)
    k, v, mask_tile = _load_memory(
        keys + row * keys_row + group * WIDTH, values + row * values_row + group * WIDTH,
        mask + row * positions, positions_tile, columns, keys_step, values_step,
        queries, positions, diagonal, WIDTH,
    )  # fmt: skip
    for shared in tl.static_range(SHARED_HEADS):
        head = (group * SHARED_HEADS + shared) * WIDTH
        q = _load_head(
            query + row * query_row + head, positions_tile, columns, query_step, queries, WIDTH
        )
        weights = _weights(q, k, mask_tile, scale, INTERPRETED)
        head_context = _product(weights.to(v.dtype), v, INTERPRETED)
        pointer = context + row * context_row + head
        _store_head(pointer, head_context, positions_tile, columns, context_step, queries, WIDTH)


@triton.jit(do_not_specialize=["queries", "positions", "diagonal"])
@no_type_check
def _attention_backward(
    query, keys, values, grad_context, grad_query, grad_keys, grad_values, mask,
    query_row, query_step, keys_row, keys_step, values_row, values_step,
    grad_context_row, grad_context_step, grad_query_row, grad_query_step,
    grad_keys_row, grad_keys_step, grad_values_row, grad_values_step,
    queries, positions, diagonal, scale, plain_scale,
    GROUPS: tl.constexpr, SHARED_HEADS: tl.constexpr, WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr, LENGTH: tl.constexpr, INTERPRETED: tl.constexpr,
):  # fmt: skip
    """The weights again, then the gradients of query, keys and values."""
    row, group = (tl.program_id(0) // GROUPS).to(tl.int64), tl.program_id(0) % GROUPS
    positions_tile, columns = tl.arange(0, LENGTH), tl.arange(0, COLUMNS)
    k, v, mask_tile = _load_memory(
        keys + row * keys_row + group * WIDTH, values + row * values_row + group * WIDTH,
        mask + row * positions, positions_tile, columns, keys_step, values_step,
        queries, positions, diagonal, WIDTH,
    )  # fmt: skip
    keys_sum = tl.zeros((LENGTH, COLUMNS), tl.float32)
    values_sum = tl.zeros((LENGTH, COLUMNS), tl.float32)
    for shared in tl.static_range(SHARED_HEADS):
        head = (group * SHARED_HEADS + shared) * WIDTH
        q = _load_head(
            query + row * query_row + head, positions_tile, columns, query_step, queries, WIDTH
        )
        grad = grad_context + row * grad_context_row + head
        grad = _load_head(grad, positions_tile, columns, grad_context_step, queries, WIDTH)
        weights = _weights(q, k, mask_tile, scale, INTERPRETED)
        values_sum += _product(tl.trans(weights.to(grad.dtype)), grad, INTERPRETED)
        grad_weights = _product(grad, tl.trans(v), INTERPRETED)
        grad_scores = (softmax_backward(weights, grad_weights, 1) * plain_scale).to(q.dtype)
        query_sum = _product(grad_scores, k, INTERPRETED)
        keys_sum += _product(tl.trans(grad_scores), q, INTERPRETED)
        pointer = grad_query + row * grad_query_row + head
        _store_head(pointer, query_sum, positions_tile, columns, grad_query_step, queries, WIDTH)
    pointer = grad_keys + row * grad_keys_row + group * WIDTH
    _store_head(pointer, keys_sum, positions_tile, columns, grad_keys_step, positions, WIDTH)
    pointer = grad_values + row * grad_values_row + group * WIDTH
    _store_head(pointer, values_sum, positions_tile, columns, grad_values_step, positions, WIDTH)


@triton.jit
@no_type_check
def _load_memory(
    keys, values, mask, positions_tile, columns, keys_step, values_step,
    queries, positions, diagonal, WIDTH: tl.constexpr,
):  # fmt: skip
    """The keys and values of one head, and where each query may attend."""
    mask_tile = _position_mask(mask, positions_tile, queries, positions, diagonal)
    k = _load_head(keys, positions_tile, columns, keys_step, positions, WIDTH)
    v = _load_head(values, positions_tile, columns, values_step, positions, WIDTH)
    return k, v, mask_tile


@triton.jit
@no_type_check
def _position_mask(mask, positions_tile, queries, positions, diagonal):
    """True where a query may attend: at real positions, and if causal none after it."""
    real = tl.load(mask + positions_tile, positions_tile < positions, other=0) != 0
    near = positions_tile[None, :] <= positions_tile[:, None] + diagonal
    return real[None, :] & (positions_tile < queries)[:, None] & near


@triton.jit
@no_type_check
def _weights(q, k, mask_tile, scale, INTERPRETED: tl.constexpr):
    """Masked softmax of the scaled scores."""
    scores = _product(q, tl.trans(k), INTERPRETED) * scale
    return softmax(scores, mask_tile, 1, 2)


@triton.jit
@no_type_check
def _product(left, right, INTERPRETED: tl.constexpr):
    """A matrix product summed in single precision; interpreted, of single precision throughout."""
    if INTERPRETED:
        left, right = left.to(tl.float32), right.to(tl.float32)
    return tl.dot(left, right, input_precision="ieee")


@triton.jit
@no_type_check
def _load_head(start, rows, columns, step, count, WIDTH: tl.constexpr):
    """Some rows of one head, zeros beyond them."""
    inside = (rows < count)[:, None] & (columns < WIDTH)[None, :]
    return tl.load(start + rows[:, None] * step + columns[None, :], inside, other=0.0)


@triton.jit
@no_type_check
def _store_head(start, tile, rows, columns, step, count, WIDTH: tl.constexpr):
    """Write some rows of one head."""
    inside = (rows < count)[:, None] & (columns < WIDTH)[None, :]
    pointer = start + rows[:, None] * step + columns[None, :]
    tl.store(pointer, tile.to(start.dtype.element_ty), inside)
