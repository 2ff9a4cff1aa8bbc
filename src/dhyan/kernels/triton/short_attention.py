"""Dot-product attention over short sentences: one program holds all of a sentence's scores."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.packed_linear import laid_alike, side_by_side

LONGEST, WIDEST = 128, 128  # what one program can hold


def is_short(
    query: Float[Tensor, "B H T E"],
    keys: Float[Tensor, "B G S E"],
    values: Float[Tensor, "B G S V"],
) -> bool:
    """Whether one program can hold all the scores between them, and matrix units make them."""
    alike = keys.shape == values.shape and query.dtype == keys.dtype == values.dtype
    lengths = query.shape[2], keys.shape[2]
    fits = 0 < min(lengths) <= max(lengths) <= LONGEST and query.shape[3] <= WIDEST
    return alike and fits and (query.dtype != torch.float32 or not query.is_cuda)


def short_attention(
    query: Float[Tensor, "B H T E"],
    keys: Float[Tensor, "B G S E"],
    values: Float[Tensor, "B G S E"],
    mask: Bool[Tensor, "B S"],
    *,
    causal: bool,
    scale: float,
) -> Float[Tensor, "B H T E"]:
    """softmax(scale · q kᵀ) v in every head; with fewer heads of keys, several ask the same.

    What the mask hides is not seen, nor, if `causal`, what is later than the query; the last query
    stands at the last position. A query that may see nothing gets zeros. Heads that lie side by
    side are read as they lie, and so are the results laid.
    """
    width = query.shape[-1]
    laid = (part.transpose(1, 2).flatten(-2) for part in (query, keys, values))
    context = _ShortAttention.apply(*laid, mask.contiguous(), width, causal, scale)
    return context.unflatten(-1, (-1, width)).transpose(1, 2)


class _ShortAttention(torch.autograd.Function):
    """Only what was given is kept: backwards, the weights are found again."""

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
        _launch(_attend, (query, keys, values, context), mask, *ctx.sizes)
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_context: Float[Tensor, "B T W"]) -> tuple[Tensor | None, ...]:
        query, keys, values, mask = ctx.saved_tensors
        if of_context.stride(-1) != 1:
            of_context = of_context.contiguous()
        if side_by_side((query, keys, values)):
            grads = laid_alike((query, keys, values))
        else:
            grads = [*laid_alike((query,)), *laid_alike((keys, values))]
        _launch(_attend_backwards, (query, keys, values, of_context, *grads), mask, *ctx.sizes)
        return *grads, None, None, None, None


def _launch(
    kernel: Any,
    tensors: tuple[Tensor, ...],
    mask: Bool[Tensor, "B S"],
    width: int,
    causal: bool,
    scale: float,
) -> None:
    """One program for a sentence and one of its heads of keys."""
    query, keys = tensors[:2]
    (rows, queries, whole), positions = query.shape, keys.shape[1]
    groups = keys.shape[2] // width
    strides = [stride for one in tensors for stride in one.stride()[:2]]
    long = max(16, triton.next_power_of_2(max(queries, positions)))
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
        TIMES=whole // (groups * width),
        WIDTH=width,
        ACROSS=triton.next_power_of_2(max(16, width)),
        LONG=long,
        EMULATED=not query.is_cuda,
        num_warps=_warps(long),
        num_stages=1,
    )


def _warps(long: int) -> int:
    """More threads for more scores."""
    return min(8, max(1, long * long // 1024))


@triton.jit(do_not_specialize=["queries", "positions", "ahead"])
@no_type_check
def _attend(
    query, keys, values, context, mask,
    query_row, query_step, keys_row, keys_step, values_row, values_step, context_row, context_step,
    queries, positions, ahead, scale, _,
    GROUPS: tl.constexpr, TIMES: tl.constexpr, WIDTH: tl.constexpr,
    ACROSS: tl.constexpr, LONG: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """Every head that asks these keys, one after the other."""
    row, group = (tl.program_id(0) // GROUPS).to(tl.int64), tl.program_id(0) % GROUPS
    places, across = tl.arange(0, LONG), tl.arange(0, ACROSS)
    seen = _seen(mask + row * positions, places, queries, positions, ahead)
    k = _tile(keys + row * keys_row + group * WIDTH, places, across, keys_step, positions, WIDTH)
    v = _tile(
        values + row * values_row + group * WIDTH, places, across, values_step, positions, WIDTH
    )
    for time in tl.static_range(TIMES):
        head = (group * TIMES + time) * WIDTH
        q = _tile(query + row * query_row + head, places, across, query_step, queries, WIDTH)
        weights = _weights(q, k, seen, scale, EMULATED)
        mixed = _product(weights.to(v.dtype), v, EMULATED)
        _keep(
            context + row * context_row + head, mixed, places, across, context_step, queries, WIDTH
        )


@triton.jit(do_not_specialize=["queries", "positions", "ahead"])
@no_type_check
def _attend_backwards(
    query, keys, values, of_context, of_query, of_keys, of_values, mask,
    query_row, query_step, keys_row, keys_step, values_row, values_step,
    of_context_row, of_context_step, of_query_row, of_query_step,
    of_keys_row, of_keys_step, of_values_row, of_values_step,
    queries, positions, ahead, scale, plain_scale,
    GROUPS: tl.constexpr, TIMES: tl.constexpr, WIDTH: tl.constexpr,
    ACROSS: tl.constexpr, LONG: tl.constexpr, EMULATED: tl.constexpr,
):  # fmt: skip
    """The weights again, then what each head's context owes to query, keys and values."""
    row, group = (tl.program_id(0) // GROUPS).to(tl.int64), tl.program_id(0) % GROUPS
    places, across = tl.arange(0, LONG), tl.arange(0, ACROSS)
    seen = _seen(mask + row * positions, places, queries, positions, ahead)
    k = _tile(keys + row * keys_row + group * WIDTH, places, across, keys_step, positions, WIDTH)
    v = _tile(
        values + row * values_row + group * WIDTH, places, across, values_step, positions, WIDTH
    )
    to_keys = tl.zeros((LONG, ACROSS), tl.float32)
    to_values = tl.zeros((LONG, ACROSS), tl.float32)
    for time in tl.static_range(TIMES):
        head = (group * TIMES + time) * WIDTH
        q = _tile(query + row * query_row + head, places, across, query_step, queries, WIDTH)
        given = of_context + row * of_context_row + head
        given = _tile(given, places, across, of_context_step, queries, WIDTH)
        weights = _weights(q, k, seen, scale, EMULATED)
        to_values += _product(tl.trans(weights.to(given.dtype)), given, EMULATED)
        of_weights = _product(given, tl.trans(v), EMULATED)
        mean = tl.sum(weights * of_weights, 1)
        of_scores = (weights * (of_weights - mean[:, None]) * plain_scale).to(q.dtype)
        to_query = _product(of_scores, k, EMULATED)
        to_keys += _product(tl.trans(of_scores), q, EMULATED)
        place = of_query + row * of_query_row + head
        _keep(place, to_query, places, across, of_query_step, queries, WIDTH)
    place = of_keys + row * of_keys_row + group * WIDTH
    _keep(place, to_keys, places, across, of_keys_step, positions, WIDTH)
    place = of_values + row * of_values_row + group * WIDTH
    _keep(place, to_values, places, across, of_values_step, positions, WIDTH)


@triton.jit
@no_type_check
def _seen(mask, places, queries, positions, ahead):
    """What each query may see: what is real, and not too far ahead of it."""
    real = tl.load(mask + places, places < positions, other=0) != 0
    near = places[None, :] <= places[:, None] + ahead
    return real[None, :] & (places < queries)[:, None] & near


@triton.jit
@no_type_check
def _weights(q, k, seen, scale, EMULATED: tl.constexpr):
    """Softmax over what is seen; zeros where nothing is."""
    scores = _product(q, tl.trans(k), EMULATED) * scale
    scores = tl.where(seen, scores, -float("inf"))
    highest = tl.max(scores, 1)
    highest = tl.where(highest == -float("inf"), 0.0, highest)
    powers = tl.exp2(scores - highest[:, None])
    total = tl.sum(powers, 1)
    return powers / tl.where(total == 0.0, 1.0, total)[:, None]


@triton.jit
@no_type_check
def _product(one, other, EMULATED: tl.constexpr):
    """A matrix product summed in single precision; emulated, of single precision throughout."""
    if EMULATED:
        one, other = one.to(tl.float32), other.to(tl.float32)
    return tl.dot(one, other, input_precision="ieee")


@triton.jit
@no_type_check
def _tile(start, rows, columns, step, count, WIDTH: tl.constexpr):
    """Some rows of one head, zeros beyond them."""
    inside = (rows < count)[:, None] & (columns < WIDTH)[None, :]
    return tl.load(start + rows[:, None] * step + columns[None, :], inside, other=0.0)


@triton.jit
@no_type_check
def _keep(start, tile, rows, columns, step, count, WIDTH: tl.constexpr):
    """Write some rows of one head."""
    inside = (rows < count)[:, None] & (columns < WIDTH)[None, :]
    place = start + rows[:, None] * step + columns[None, :]
    tl.store(place, tile.to(start.dtype.element_ty), inside)
