"""Triton: fused additive attention (Bahdanau et al., 2015); tanh(q + k) of all pairs is not stored.

For many queries the scores of all pairs come from `additive_scores`; for few, one program per query
computes scores, softmax and context.
"""

from typing import Any, no_type_check

import torch
import triton
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from triton import language as tl

from dhyan.kernels.backend import product_dtype
from dhyan.kernels.triton.activations import tanh
from dhyan.kernels.triton.additive_scores import pairwise_gradient, pairwise_scores
from dhyan.kernels.triton.masked_softmax import masked_softmax, softmax

FEW_QUERIES = 4  # up to so many, taking every tanh by itself is faster than preparing exponentials
MAX_POSITIONS = 256  # positions whose scores one program holds


def additive_attention(
    query: Float[Tensor, "B H T A"],
    keys: Float[Tensor, "B G S A"],
    values: Float[Tensor, "B G S E"],
    energy: Float[Tensor, " A"],
    mask: Bool[Tensor, "#B #H T S"],
) -> Float[Tensor, "B H T E"]:
    """The values averaged by the masked softmax of their scores."""
    keys, values = (tensor.expand(-1, query.shape[1], -1, -1) for tensor in (keys, values))
    tensors = (query, keys, values, energy)
    needs_grad = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if query.shape[2] <= FEW_QUERIES and keys.shape[2] <= MAX_POSITIONS and not needs_grad:
        return attend_few_queries(query, keys, values, energy, mask, product_dtype(values))
    weights = masked_softmax(additive_scores(query, keys, energy), mask, product_dtype(values))
    return weights @ values


def additive_scores(
    query: Float[Tensor, "*H T A"], keys: Float[Tensor, "*G S A"], energy: Float[Tensor, " A"]
) -> Float[Tensor, "*H T S"]:
    """score(q, k) = energy · tanh(q + k), in single precision."""
    leading = query.shape[:-2]
    keys = keys.expand(*leading, *keys.shape[-2:])
    scores = _Scores.apply(
        *(tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (query, keys)), energy
    )
    return scores.reshape(*leading, *scores.shape[-2:])


class _Scores(torch.autograd.Function):
    """The scores, and the gradients of query, keys and energy."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
        query, keys, energy = (tensor.contiguous() for tensor in (query, keys, energy))
        ctx.save_for_backward(query, keys, energy)
        kernel = few_query_scores if query.shape[1] <= FEW_QUERIES else pairwise_scores
        return kernel(query, keys, energy)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_scores: Tensor) -> tuple[Tensor | None, ...]:
        query, keys, energy = ctx.saved_tensors
        wants_query, wants_keys, wants_energy = ctx.needs_input_grad
        grad_query = grad_keys = grad_energy = None
        if wants_query or wants_energy:
            grad_query, sigmoid_sums = pairwise_gradient(query, keys, energy, grad_scores)
            grad_energy = torch.sub(grad_scores.sum(), sigmoid_sums.sum(dim=0), alpha=2).to(
                energy.dtype
            )
        if wants_keys:
            grad_keys, _ = pairwise_gradient(keys, query, energy, grad_scores.transpose(1, 2))
        return grad_query, grad_keys, grad_energy


def attend_few_queries(
    query: Float[Tensor, "B H T A"],
    keys: Float[Tensor, "B H S A"],
    values: Float[Tensor, "B H S E"],
    energy: Float[Tensor, " A"],
    mask: Bool[Tensor, "#B #H T S"],
    dtype: torch.dtype,
) -> Float[Tensor, "B H T E"]:
    """The context of each query; no gradients.

    While there are few queries, several programs compute parts of one context.
    """
    batch, heads, queries, width = query.shape
    positions, value_width = values.shape[-2:]
    query, keys, values = query.contiguous(), _with_unit_stride(keys), _with_unit_stride(values)
    mask = mask.expand(batch, heads, queries, positions)
    context = torch.empty(*query.shape[:-1], value_width, dtype=dtype, device=query.device)
    positions_tile, count = triton.next_power_of_2(positions), batch * heads * queries
    chunk = min(max(16, min(256, 8192 // positions_tile)), triton.next_power_of_2(value_width))
    parts = min(triton.cdiv(value_width, chunk), max(1, 512 // count))
    _context_kernel[(count, parts)](
        query, keys, values, energy.contiguous(), mask, context,
        heads, queries, positions, width, value_width, parts,
        *keys.stride()[:3], *values.stride()[:3], *mask.stride(),
        POSITIONS=positions_tile,
        COLUMNS=min(max(16, min(128, 4096 // positions_tile)), triton.next_power_of_2(width)),
        CHUNK=chunk,
        FAST=_fast(query, keys),
    )  # fmt: skip
    return context


def few_query_scores(
    query: Float[Tensor, "N T A"], keys: Float[Tensor, "N S A"], energy: Float[Tensor, " A"]
) -> Float[Tensor, "N T S"]:
    """energy · tanh(q + k), with one tanh instruction per pair and column."""
    (count, queries, width), positions = query.shape, keys.shape[1]
    scores = torch.empty(count, queries, positions, dtype=torch.float32, device=query.device)
    positions_tile = min(32, triton.next_power_of_2(positions))
    _score_kernel[(count * queries, triton.cdiv(positions, positions_tile))](
        query, keys, energy, scores, queries, positions, width,
        POSITIONS=positions_tile,
        COLUMNS=min(128, triton.next_power_of_2(width)),
        FAST=_fast(query, keys),
    )  # fmt: skip
    return scores


def _with_unit_stride(states: Float[Tensor, "B H S D"]) -> Float[Tensor, "B H S D"]:
    """The same states, with contiguous vectors."""
    return states if states.stride(-1) == 1 else states.contiguous()


def _fast(query: Tensor, keys: Tensor) -> bool:
    """Whether the GPU's own tanh, good to three digits, is as accurate as half precision."""
    return query.is_cuda and query.element_size() == keys.element_size() == 2


@triton.jit
@no_type_check
def score_keys(
    query,
    keys,
    energy,
    positions_tile,
    positions,
    width,
    stride,
    POSITIONS: tl.constexpr,
    COLUMNS: tl.constexpr,
    FAST: tl.constexpr,
):
    """energy · tanh(q + k) of one query with all keys."""
    sums = tl.zeros([POSITIONS, COLUMNS], tl.float32)
    real = (positions_tile < positions)[:, None]
    for start in range(0, width, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        inside = columns < width
        query_at = tl.load(query + columns, mask=inside, other=0.0).to(tl.float32)
        energy_tile = tl.load(energy + columns, mask=inside, other=0.0).to(tl.float32)
        pointers = keys + positions_tile[:, None].to(tl.int64) * stride + columns[None, :]
        key_tile = tl.load(pointers, mask=real & inside[None, :], other=0.0).to(tl.float32)
        sums += energy_tile[None, :] * tanh(query_at[None, :] + key_tile, FAST)
    return tl.sum(sums, axis=1)


@triton.jit
@no_type_check
def _score_kernel(
    query,
    keys,
    energy,
    scores,
    queries,
    positions,
    width,
    POSITIONS: tl.constexpr,
    COLUMNS: tl.constexpr,
    FAST: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    positions_tile = tl.program_id(1) * POSITIONS + tl.arange(0, POSITIONS)
    row_scores = score_keys(
        query + row * width,
        keys + row // queries * positions * width,
        energy,
        positions_tile,
        positions,
        width,
        width,
        POSITIONS,
        COLUMNS,
        FAST,
    )
    tl.store(scores + row * positions + positions_tile, row_scores, mask=positions_tile < positions)


@triton.jit
@no_type_check
def _context_kernel(
    query,
    keys,
    values,
    energy,
    mask,
    context,
    heads,
    queries,
    positions,
    width,
    value_width,
    parts,
    key_batch,
    key_head,
    key_position,
    value_batch,
    value_head,
    value_position,
    mask_batch,
    mask_head,
    mask_query,
    mask_position,
    POSITIONS: tl.constexpr,
    COLUMNS: tl.constexpr,
    CHUNK: tl.constexpr,
    FAST: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    batch, head, query_at = row // (heads * queries), row // queries % heads, row % queries
    positions_tile = tl.arange(0, POSITIONS)
    real = positions_tile < positions
    scores = score_keys(
        query + row * width,
        keys + batch * key_batch + head * key_head,
        energy,
        positions_tile,
        positions,
        width,
        key_position,
        POSITIONS,
        COLUMNS,
        FAST,
    )
    mask_row = mask + batch * mask_batch + head * mask_head + query_at * mask_query
    unmasked = tl.load(mask_row + positions_tile * mask_position, mask=real, other=0) != 0
    weights = softmax(scores, unmasked, 0, 0)
    pointers = values + batch * value_batch + head * value_head
    pointers += positions_tile[:, None].to(tl.int64) * value_position
    for start in range(tl.program_id(1) * CHUNK, value_width, parts * CHUNK):
        columns = start + tl.arange(0, CHUNK)
        inside = columns < value_width
        value_tile = tl.load(
            pointers + columns[None, :], mask=real[:, None] & inside[None, :], other=0.0
        )
        context_tile = tl.sum(weights[:, None] * value_tile.to(tl.float32), axis=0)
        tl.store(
            context + row * value_width + columns,
            context_tile.to(context.dtype.element_ty),
            mask=inside,
        )
