"""Triton: the words of a sentence look at its source.

Imported only where Triton runs; `attending.py` has the definitions and chooses between the two.
"""

from typing import no_type_check

import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import early

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
@no_type_check
def weighed(asked, key, value, real, top, total, mixed):
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
def _read(keys, values, base, place, length, memory_place, column, inside):
    """The keys and values of some places of a memory, zeros past its length."""
    cell = (base + place.to(tl.int64) * memory_place)[:, None] + column[None, :]
    seen = (place < length)[:, None] & inside[None, :]
    return tl.load(keys + cell, mask=seen, other=0.0), tl.load(values + cell, mask=seen, other=0.0)


@triton.jit
@no_type_check
def _all_weighed(asked, key, value, real, top, total, mixed, scale, PRECISION: tl.constexpr):
    """What several queries have found, with further keys and values."""
    score = tl.dot(asked, tl.trans(key), input_precision=PRECISION) * (scale * LOG2E)
    score = tl.where(real[None, :], score, float("-inf"))
    higher = tl.maximum(top, tl.max(score, axis=1))
    weight = tl.exp2(score - higher[:, None])
    shrink = tl.exp2(top - higher)
    share = tl.dot(weight.to(value.dtype), value, input_precision=PRECISION)
    total = total * shrink + tl.sum(weight, axis=1)
    return higher, total, mixed * shrink[:, None] + share


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
    key, value = _read(keys, values, base, place, length, memory_place, column, inside)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    asked = tl.load(query + row * query_row + head * E + column, mask=inside, other=0.0)
    asked = asked.to(tl.float32) * (scale * LOG2E)
    nothing = tl.zeros([E_PAD], tl.float32)
    top, total, mixed = weighed(asked, key, value, place < length, -1.0e30, 0.0, nothing)
    for start in range(BLOCK, length, BLOCK):
        later = start + place
        key, value = _read(keys, values, base, later, length, memory_place, column, inside)
        top, total, mixed = weighed(asked, key, value, later < length, top, total, mixed)
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
    key, value = _read(keys, values, base, place, length, memory_place, column, inside)
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
    top = tl.full([BLOCK_Q], -1.0e30, tl.float32)
    total, mixed = tl.zeros([BLOCK_Q], tl.float32), tl.zeros([BLOCK_Q, E_PAD], tl.float32)
    real = place < length
    top, total, mixed = _all_weighed(
        asked, key, value, real, top, total, mixed, scale, PRECISION=PRECISION
    )
    for start in range(BLOCK, length, BLOCK):
        later = start + place
        key, value = _read(keys, values, base, later, length, memory_place, column, inside)
        real = later < length
        top, total, mixed = _all_weighed(
            asked, key, value, real, top, total, mixed, scale, PRECISION=PRECISION
        )
    found = tl.where(length > 0, mixed / tl.maximum(total, 1.0e-30)[:, None], 0.0)
    row = (sentence * queries + which) * HEADS + head
    tl.store(
        context + row[:, None] * E + column[None, :],
        found.to(context.dtype.element_ty),
        mask=asking[:, None] & inside[None, :],
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
