"""Triton: one new word looks at what its row has said, and the words of a sentence at its source.

Imported only where Triton runs; `decode.py` has the definitions and chooses between the two.
"""

from typing import no_type_check

import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.early import early

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
@no_type_check
def _holders(origin, past, place, row, sentence, BEAM: tl.constexpr):
    """Which row was fed the word at each earlier place."""
    holder = row + past * 0
    if BEAM > 1:
        own = tl.load(origin + past, mask=past < place, other=0)
        holder = sentence * BEAM + own.to(tl.int64)
    return holder


@triton.jit
@no_type_check
def _weighed(asked, key, value, real, top, total, mixed):
    """What a query has found, with further keys and values."""
    score = tl.sum(asked[None, :] * key.to(tl.float32), axis=1)
    score = tl.where(real, score, float("-inf"))
    higher = tl.maximum(top, tl.max(score, axis=0))
    weight = tl.exp2(score - higher)
    shrink = tl.exp2(top - higher)
    total = total * shrink + tl.sum(weight, axis=0)
    mixed = mixed * shrink + tl.sum(weight[:, None] * value.to(tl.float32), axis=0)
    return higher, total, mixed


@triton.jit
@no_type_check
def _past_kernel(
    joined,
    keys,
    values,
    places,
    origins,
    context,
    scale,
    joined_row,
    cache_row,
    cache_group,
    origin_parity,
    HEADS: tl.constexpr,
    GROUPS: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BEAM: tl.constexpr,
    ROOM: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    group = head // (HEADS // GROUPS)
    sentence = row // BEAM
    column = tl.arange(0, E_PAD)
    inside = column < E
    place = tl.load(places + sentence)
    origin = origins + (place % 2) * origin_parity + row * ROOM
    past = tl.arange(0, BLOCK)
    holder = _holders(origin, past, place, row, sentence, BEAM)
    cell = (holder * cache_row + group * cache_group + past * E)[:, None] + column[None, :]
    seen = (past < place)[:, None] & inside[None, :]
    key = tl.load(keys + cell, mask=seen, other=0.0)
    value = tl.load(values + cell, mask=seen, other=0.0)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    line = joined + row * joined_row
    asked = tl.load(line + head * E + column, mask=inside, other=0.0).to(tl.float32)
    asked *= scale * LOG2E
    new_key = tl.load(line + (HEADS + group) * E + column, mask=inside, other=0.0)
    new_value = tl.load(line + (HEADS + GROUPS + group) * E + column, mask=inside, other=0.0)
    if head % (HEADS // GROUPS) == 0:
        own = row * cache_row + group * cache_group + place * E + column
        tl.store(keys + own, new_key, mask=inside)
        tl.store(values + own, new_value, mask=inside)
    top = tl.sum(asked * new_key.to(tl.float32), axis=0)
    mixed = new_value.to(tl.float32)
    top, total, mixed = _weighed(asked, key, value, past < place, top, 1.0, mixed)
    for start in range(BLOCK, place, BLOCK):
        later = start + past
        holder = _holders(origin, later, place, row, sentence, BEAM)
        cell = (holder * cache_row + group * cache_group + later * E)[:, None] + column[None, :]
        seen = (later < place)[:, None] & inside[None, :]
        key = tl.load(keys + cell, mask=seen, other=0.0)
        value = tl.load(values + cell, mask=seen, other=0.0)
        top, total, mixed = _weighed(asked, key, value, later < place, top, total, mixed)
    found = (mixed / total).to(context.dtype.element_ty)
    tl.store(context + (row * HEADS + head) * E + column, found, mask=inside)


@triton.jit
@no_type_check
def _lone_kernel(
    query,
    keys,
    values,
    lengths,
    context,
    scale,
    query_row,
    memory_row,
    memory_group,
    memory_place,
    HEADS: tl.constexpr,
    GROUPS: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BLOCK: tl.constexpr,
    SETTLED: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    if EARLY and not SETTLED:
        tl.extra.cuda.gdc_wait()
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    group = head // (HEADS // GROUPS)
    length = tl.load(lengths + row)
    column = tl.arange(0, E_PAD)
    inside = column < E
    base = row * memory_row + group * memory_group
    place = tl.arange(0, BLOCK)
    cell = (base + place.to(tl.int64) * memory_place)[:, None] + column[None, :]
    seen = (place < length)[:, None] & inside[None, :]
    key = tl.load(keys + cell, mask=seen, other=0.0)
    value = tl.load(values + cell, mask=seen, other=0.0)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    asked = tl.load(query + row * query_row + head * E + column, mask=inside, other=0.0)
    asked = asked.to(tl.float32) * (scale * LOG2E)
    nothing = tl.zeros([E_PAD], tl.float32)
    top, total, mixed = _weighed(asked, key, value, place < length, -1.0e30, 0.0, nothing)
    for start in range(BLOCK, length, BLOCK):
        later = start + place
        cell = (base + later.to(tl.int64) * memory_place)[:, None] + column[None, :]
        seen = (later < length)[:, None] & inside[None, :]
        key = tl.load(keys + cell, mask=seen, other=0.0)
        value = tl.load(values + cell, mask=seen, other=0.0)
        top, total, mixed = _weighed(asked, key, value, later < length, top, total, mixed)
    found = tl.where(length > 0, mixed / total, 0.0).to(context.dtype.element_ty)
    tl.store(context + (row * HEADS + head) * E + column, found, mask=inside)


@triton.jit
@no_type_check
def _shared_kernel(
    query,
    keys,
    values,
    lengths,
    context,
    scale,
    queries,
    query_sentence,
    query_row,
    memory_row,
    memory_group,
    memory_place,
    HEADS: tl.constexpr,
    GROUPS: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISION: tl.constexpr,
    SETTLED: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    if EARLY and not SETTLED:
        tl.extra.cuda.gdc_wait()
    sentence = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    group = head // (HEADS // GROUPS)
    length = tl.load(lengths + sentence)
    column = tl.arange(0, E_PAD)
    inside = column < E
    base = sentence * memory_row + group * memory_group
    place = tl.arange(0, BLOCK)
    cell = (base + place.to(tl.int64) * memory_place)[:, None] + column[None, :]
    seen = (place < length)[:, None] & inside[None, :]
    key = tl.load(keys + cell, mask=seen, other=0.0)
    value = tl.load(values + cell, mask=seen, other=0.0)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    which = tl.program_id(2) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    asking = which < queries
    line = sentence * query_sentence + which.to(tl.int64) * query_row
    asked = tl.load(
        query + line[:, None] + head * E + column[None, :],
        mask=asking[:, None] & inside[None, :],
        other=0.0,
    )
    score = tl.dot(asked, tl.trans(key), input_precision=PRECISION) * (scale * LOG2E)
    score = tl.where((place < length)[None, :], score, float("-inf"))
    top = tl.maximum(tl.max(score, axis=1), -1.0e30)
    weight = tl.exp2(score - top[:, None])
    total = tl.sum(weight, axis=1)
    mixed = tl.dot(weight.to(value.dtype), value, input_precision=PRECISION)
    for start in range(BLOCK, length, BLOCK):
        later = start + place
        cell = (base + later.to(tl.int64) * memory_place)[:, None] + column[None, :]
        seen = (later < length)[:, None] & inside[None, :]
        key = tl.load(keys + cell, mask=seen, other=0.0)
        value = tl.load(values + cell, mask=seen, other=0.0)
        score = tl.dot(asked, tl.trans(key), input_precision=PRECISION) * (scale * LOG2E)
        score = tl.where((later < length)[None, :], score, float("-inf"))
        higher = tl.maximum(top, tl.max(score, axis=1))
        weight = tl.exp2(score - higher[:, None])
        shrink = tl.exp2(top - higher)
        share = tl.dot(weight.to(value.dtype), value, input_precision=PRECISION)
        mixed = mixed * shrink[:, None] + share
        total = total * shrink + tl.sum(weight, axis=1)
        top = higher
    found = tl.where(length > 0, mixed / tl.maximum(total, 1.0e-30)[:, None], 0.0)
    row = (sentence * queries + which) * HEADS + head
    tl.store(
        context + row[:, None] * E + column[None, :],
        found.to(context.dtype.element_ty),
        mask=asking[:, None] & inside[None, :],
    )


def past_attention(
    joined: Float[Tensor, "R J"],
    keys: Float[Tensor, "A G T E"],
    values: Float[Tensor, "A G T E"],
    places: Int[Tensor, " N"],
    origins: Int[Tensor, "2 N W T"] | None,
    context: Float[Tensor, "R C"],
    *,
    heads: int,
    scale: float,
) -> None:
    """Launch: every row's new word joins its cache and asks it; the answers go to `context`."""
    _, groups, room, width = keys.shape
    rows, table = len(joined), places if origins is None else origins
    _past_kernel[(rows, heads)](
        joined,
        keys,
        values,
        places,
        table,
        context,
        scale,
        joined.stride(0),
        keys.stride(0),
        keys.stride(1),
        table.stride(0),
        HEADS=heads,
        GROUPS=groups,
        E=width,
        E_PAD=triton.next_power_of_2(width),
        BEAM=rows // len(places),
        ROOM=room,
        BLOCK=32,
        num_warps=1,
        **early(joined),
    )


def source_attention(
    query: Float[Tensor, "N Q H E"],
    keys: Float[Tensor, "N G S E"],
    values: Float[Tensor, "N G S E"],
    lengths: Int[Tensor, " N"],
    context: Float[Tensor, "N Q C"],
    *,
    scale: float,
    settled: bool,
) -> None:
    """Launch: the queries of each sentence look at what is real of its memory."""
    sentences, queries, heads, width = query.shape
    room = keys.shape[2]
    strides = (keys.stride(0), keys.stride(1), keys.stride(2))
    sizes = {
        "HEADS": heads,
        "GROUPS": keys.shape[1],
        "E": width,
        "E_PAD": triton.next_power_of_2(width),
        "SETTLED": settled,
    }
    given = (query, keys, values, lengths, context, scale)
    if queries == 1:
        _lone_kernel[(sentences, heads)](
            *given,
            query.stride(0),
            *strides,
            **sizes,
            BLOCK=32,
            num_warps=1,
            **early(query),
        )
        return
    block = 16 if queries <= 16 else 32 if queries <= 32 else 64
    _shared_kernel[(sentences, heads, triton.cdiv(queries, block))](
        *given,
        queries,
        query.stride(0),
        query.stride(1),
        *strides,
        **{**sizes, "E_PAD": max(sizes["E_PAD"], 16)},
        BLOCK_Q=block,
        BLOCK=32 if block == 16 or room <= 32 else 64,
        PRECISION="ieee" if keys.element_size() == 4 else "tf32",
        num_warps=4,
        **early(query),
    )
