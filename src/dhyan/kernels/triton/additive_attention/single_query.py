"""Additive attention of one query at a time: scores, softmax and context in one program."""

from typing import no_type_check

import torch
import triton
from jaxtyping import Bool, Float
from torch import Tensor
from triton import language as tl

from dhyan.kernels.triton.activations import tanh
from dhyan.kernels.triton.additive_attention.masked_softmax import softmax_of_one

LONGEST = 256  # positions whose scores one program holds


def attend_one(
    query: Float[Tensor, "B H T A"],
    keys: Float[Tensor, "B H S A"],
    values: Float[Tensor, "B H S E"],
    energy: Float[Tensor, " A"],
    seen: Bool[Tensor, "#B #H T S"],
    dtype: torch.dtype,
) -> Float[Tensor, "B H T E"]:
    """The context of each query, by programs of its own; no gradients.

    While there are few queries, several programs share the context of one.
    """
    batch, heads, queries, width = query.shape
    positions, breadth = values.shape[-2:]
    query, keys, values = query.contiguous(), _rows(keys), _rows(values)
    seen = seen.expand(batch, heads, queries, positions)
    context = torch.empty(*query.shape[:-1], breadth, dtype=dtype, device=query.device)
    places, count = triton.next_power_of_2(positions), batch * heads * queries
    chunk = min(max(16, min(256, 8192 // places)), triton.next_power_of_2(breadth))
    parts = min(triton.cdiv(breadth, chunk), max(1, 512 // count))
    _context_of_one[(count, parts)](
        query, keys, values, energy.contiguous(), seen, context,
        heads, queries, positions, width, breadth, parts,
        *keys.stride()[:3], *values.stride()[:3], *seen.stride(),
        PLACES=places,
        COLUMNS=min(max(16, min(128, 4096 // places)), triton.next_power_of_2(width)),
        CHUNK=chunk,
        FAST=_fast(query, keys),
    )  # fmt: skip
    return context


def scores_of_few(
    query: Float[Tensor, "N T A"], keys: Float[Tensor, "N S A"], energy: Float[Tensor, " A"]
) -> Float[Tensor, "N T S"]:
    """energy · tanh(q + k), each tanh taken by itself."""
    (count, queries, width), positions = query.shape, keys.shape[1]
    scores = torch.empty(count, queries, positions, dtype=torch.float32, device=query.device)
    places = min(32, triton.next_power_of_2(positions))
    _scores_of_one[(count * queries, triton.cdiv(positions, places))](
        query, keys, energy, scores, queries, positions, width,
        PLACES=places,
        COLUMNS=min(128, triton.next_power_of_2(width)),
        FAST=_fast(query, keys),
    )  # fmt: skip
    return scores


def _rows(states: Float[Tensor, "B H S D"]) -> Float[Tensor, "B H S D"]:
    """The same states, each of them in one piece."""
    return states if states.stride(-1) == 1 else states.contiguous()


def _fast(query: Tensor, keys: Tensor) -> bool:
    """Whether the GPU's own tanh, good to three digits, loses nothing that was not lost before."""
    return query.is_cuda and query.element_size() == keys.element_size() == 2


@triton.jit
@no_type_check
def score_keys(
    query,
    keys,
    energy,
    places,
    positions,
    width,
    stride,
    PLACES: tl.constexpr,
    COLUMNS: tl.constexpr,
    FAST: tl.constexpr,
):
    """energy · tanh(q + k) of the query and the keys that two pointers begin at."""
    sums = tl.zeros([PLACES, COLUMNS], tl.float32)
    real = (places < positions)[:, None]
    for start in range(0, width, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        inside = columns < width
        asked = tl.load(query + columns, mask=inside, other=0.0).to(tl.float32)
        worth = tl.load(energy + columns, mask=inside, other=0.0).to(tl.float32)
        rows = keys + places[:, None].to(tl.int64) * stride + columns[None, :]
        known = tl.load(rows, mask=real & inside[None, :], other=0.0).to(tl.float32)
        sums += worth[None, :] * tanh(asked[None, :] + known, FAST)
    return tl.sum(sums, axis=1)


@triton.jit
@no_type_check
def _scores_of_one(
    query,
    keys,
    energy,
    scores,
    queries,
    positions,
    width,
    PLACES: tl.constexpr,
    COLUMNS: tl.constexpr,
    FAST: tl.constexpr,
):
    one = tl.program_id(0).to(tl.int64)
    places = tl.program_id(1) * PLACES + tl.arange(0, PLACES)
    found = score_keys(
        query + one * width,
        keys + one // queries * positions * width,
        energy,
        places,
        positions,
        width,
        width,
        PLACES,
        COLUMNS,
        FAST,
    )
    tl.store(scores + one * positions + places, found, mask=places < positions)


@triton.jit
@no_type_check
def _context_of_one(
    query,
    keys,
    values,
    energy,
    seen,
    context,
    heads,
    queries,
    positions,
    width,
    breadth,
    parts,
    key_batch,
    key_head,
    key_place,
    value_batch,
    value_head,
    value_place,
    seen_batch,
    seen_head,
    seen_query,
    seen_place,
    PLACES: tl.constexpr,
    COLUMNS: tl.constexpr,
    CHUNK: tl.constexpr,
    FAST: tl.constexpr,
):
    one = tl.program_id(0).to(tl.int64)
    batch, head, asked = one // (heads * queries), one // queries % heads, one % queries
    places = tl.arange(0, PLACES)
    real = places < positions
    scores = score_keys(
        query + one * width,
        keys + batch * key_batch + head * key_head,
        energy,
        places,
        positions,
        width,
        key_place,
        PLACES,
        COLUMNS,
        FAST,
    )
    sight = seen + batch * seen_batch + head * seen_head + asked * seen_query
    visible = tl.load(sight + places * seen_place, mask=real, other=0) != 0
    weights = softmax_of_one(scores, visible)
    rows = values + batch * value_batch + head * value_head
    rows += places[:, None].to(tl.int64) * value_place
    for start in range(tl.program_id(1) * CHUNK, breadth, parts * CHUNK):
        columns = start + tl.arange(0, CHUNK)
        inside = columns < breadth
        told = tl.load(rows + columns[None, :], mask=real[:, None] & inside[None, :], other=0.0)
        mixed = tl.sum(weights[:, None] * told.to(tl.float32), axis=0)
        tl.store(context + one * breadth + columns, mixed.to(context.dtype.element_ty), mask=inside)
