"""Triton: self-attention over the KV cache, cross-attention and cache writes of a decoding step.

Imported only where Triton runs; `dhyan.kernels.decode.attention` has the definitions.
"""

from typing import no_type_check

import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import launch_options

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
@no_type_check
def _online_softmax(
    query,
    key,
    value,
    valid,
    maximum,
    denominator,
    context_sum,
    scale,
    MATRIX: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """A step of online softmax (Milakov and Gimelshein, 2018) over further keys and values.

    With MATRIX for rows of queries, by matrix products; else for one query, scaled already.
    """
    if MATRIX:
        score = tl.dot(query, tl.trans(key), input_precision=PRECISION) * (scale * LOG2E)
        score = tl.where(valid[None, :], score, float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(score, axis=1))
        weight = tl.exp2(score - new_maximum[:, None])
        decay = tl.exp2(maximum - new_maximum)
        update = tl.dot(weight.to(value.dtype), value, input_precision=PRECISION)
        denominator = denominator * decay + tl.sum(weight, axis=1)
        context_sum = context_sum * decay[:, None] + update
    else:
        score = tl.sum(query[None, :] * key.to(tl.float32), axis=1)
        score = tl.where(valid, score, float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(score, axis=0))
        weight = tl.exp2(score - new_maximum)
        decay = tl.exp2(maximum - new_maximum)
        denominator = denominator * decay + tl.sum(weight, axis=0)
        context_sum = context_sum * decay + tl.sum(weight[:, None] * value.to(tl.float32), axis=0)
    return new_maximum, denominator, context_sum


@triton.jit
@no_type_check
def _load_keys_values(keys, values, vectors, position, length, column, inside):
    """The keys and values at these offsets of vectors, zeros at positions past the length."""
    cell = vectors[:, None] + column[None, :]
    inside_memory = (position < length)[:, None] & inside[None, :]
    key = tl.load(keys + cell, mask=inside_memory, other=0.0)
    value = tl.load(values + cell, mask=inside_memory, other=0.0)
    return key, value


@triton.jit
@no_type_check
def _past_vectors(
    own_cache_rows,
    position,
    step,
    row,
    sentence,
    cache_row,
    head_start,
    BEAM: tl.constexpr,
    E: tl.constexpr,
):
    """Where the keys and values of earlier positions are: with a beam, each in a row of its own."""
    cache_row_of = row + position * 0
    if BEAM > 1:
        row_in_sentence = tl.load(own_cache_rows + position, mask=position < step, other=0)
        cache_row_of = sentence * BEAM + row_in_sentence.to(tl.int64)
    return cache_row_of * cache_row + head_start + position * E


@triton.jit
@no_type_check
def _self_attention_kernel(
    qkv,
    keys,
    values,
    steps,
    cache_rows,
    context,
    scale,
    qkv_row,
    cache_row,
    cache_head,
    cache_rows_parity,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BEAM: tl.constexpr,
    CAPACITY: tl.constexpr,
    BLOCK: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    """One query of one head, which starts from its own key and value."""
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    kv_head = head // (HEADS // KV_HEADS)
    sentence = row // BEAM
    column = tl.arange(0, E_PAD)
    inside = column < E
    step = tl.load(steps + sentence)
    own_cache_rows = cache_rows + (step % 2) * cache_rows_parity + row * CAPACITY
    head_start = kv_head * cache_head
    position = tl.arange(0, BLOCK)
    past = _past_vectors(
        own_cache_rows, position, step, row, sentence, cache_row, head_start, BEAM, E
    )
    key, value = _load_keys_values(keys, values, past, position, step, column, inside)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    qkv_start = qkv + row * qkv_row
    query = tl.load(qkv_start + head * E + column, mask=inside, other=0.0).to(tl.float32)
    query *= scale * LOG2E
    new_key = tl.load(qkv_start + (HEADS + kv_head) * E + column, mask=inside, other=0.0)
    new_value = tl.load(
        qkv_start + (HEADS + KV_HEADS + kv_head) * E + column, mask=inside, other=0.0
    )
    if head % (HEADS // KV_HEADS) == 0:
        own_cell = row * cache_row + head_start + step * E + column
        tl.store(keys + own_cell, new_key, mask=inside)
        tl.store(values + own_cell, new_value, mask=inside)
    maximum = tl.sum(query * new_key.to(tl.float32), axis=0)
    context_sum = new_value.to(tl.float32)
    maximum, denominator, context_sum = _online_softmax(
        query, key, value, position < step, maximum, 1.0, context_sum, scale, False, ""
    )
    for start in range(BLOCK, step, BLOCK):
        later = start + position
        past = _past_vectors(
            own_cache_rows, later, step, row, sentence, cache_row, head_start, BEAM, E
        )
        key, value = _load_keys_values(keys, values, past, later, step, column, inside)
        maximum, denominator, context_sum = _online_softmax(
            query, key, value, later < step, maximum, denominator, context_sum, scale, False, ""
        )
    result = (context_sum / denominator).to(context.dtype.element_ty)
    tl.store(context + (row * HEADS + head) * E + column, result, mask=inside)


@triton.jit
@no_type_check
def _cross_attention_kernel(
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
    memory_head,
    memory_position,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISION: tl.constexpr,
    CONSTANT_MEMORY: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    """Some queries of one head; with BLOCK_Q 1 the only one, as a vector."""
    MATRIX: tl.constexpr = BLOCK_Q > 1
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    if DEPENDENT and not CONSTANT_MEMORY:
        tl.extra.cuda.gdc_wait()
    sentence = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    kv_head = head // (HEADS // KV_HEADS)
    length = tl.load(lengths + sentence)
    column = tl.arange(0, E_PAD)
    inside = column < E
    memory_start = sentence * memory_row + kv_head * memory_head
    position = tl.arange(0, BLOCK)
    vectors = memory_start + position.to(tl.int64) * memory_position
    key, value = _load_keys_values(keys, values, vectors, position, length, column, inside)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    if MATRIX:
        index = tl.program_id(2) * BLOCK_Q + tl.arange(0, BLOCK_Q)
        query_mask = (index < queries)[:, None] & inside[None, :]
        query_start = sentence * query_sentence + index.to(tl.int64) * query_row
        query_at = query + query_start[:, None] + head * E + column[None, :]
        query_tile = tl.load(query_at, mask=query_mask, other=0.0)
        maximum = tl.full([BLOCK_Q], -1.0e30, tl.float32)
        denominator = tl.zeros([BLOCK_Q], tl.float32)
        context_sum = tl.zeros([BLOCK_Q, E_PAD], tl.float32)
    else:
        query_at = query + sentence * query_sentence + head * E + column
        query_tile = tl.load(query_at, mask=inside, other=0.0).to(tl.float32) * (scale * LOG2E)
        maximum, denominator, context_sum = -1.0e30, 0.0, tl.zeros([E_PAD], tl.float32)
    maximum, denominator, context_sum = _online_softmax(
        query_tile, key, value, position < length,
        maximum, denominator, context_sum, scale, MATRIX, PRECISION,
    )  # fmt: skip
    for start in range(BLOCK, length, BLOCK):
        later = start + position
        vectors = memory_start + later.to(tl.int64) * memory_position
        key, value = _load_keys_values(keys, values, vectors, later, length, column, inside)
        maximum, denominator, context_sum = _online_softmax(
            query_tile, key, value, later < length,
            maximum, denominator, context_sum, scale, MATRIX, PRECISION,
        )  # fmt: skip
    if MATRIX:
        result = tl.where(length > 0, context_sum / tl.maximum(denominator, 1.0e-30)[:, None], 0.0)
        row = (sentence * queries + index) * HEADS + head
        context_at = context + row[:, None] * E + column[None, :]
        tl.store(context_at, result.to(context.dtype.element_ty), mask=query_mask)
    else:
        result = tl.where(length > 0, context_sum / denominator, 0.0).to(context.dtype.element_ty)
        tl.store(context + (sentence * HEADS + head) * E + column, result, mask=inside)


@triton.jit
@no_type_check
def _write_cache_kernel(
    keys_values,
    slots,
    cache,
    length,
    sentences,
    capacity,
    KV_HEADS: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The keys or values of one layer and head, of one sentence."""
    sentence = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    slot = tl.load(slots + sentence)
    column = tl.arange(0, E_PAD)
    row_start = keys_values + sentence * length * tl.num_programs(1) * E + part * E
    head = part % KV_HEADS
    cell = ((part // KV_HEADS).to(tl.int64) * sentences + slot) * KV_HEADS + head
    cache_start = cache + cell * capacity * E
    for start in range(0, length, BLOCK):
        position = start + tl.arange(0, BLOCK)
        real = (position < length)[:, None] & (column < E)[None, :]
        token_start = position[:, None] * (tl.num_programs(1) * E)
        x = tl.load(row_start + token_start + column[None, :], mask=real, other=0.0)
        tl.store(cache_start + position[:, None] * E + column[None, :], x, mask=real)


def self_attention(
    qkv: Float[Tensor, "R J"],
    keys: Float[Tensor, "A G T E"],
    values: Float[Tensor, "A G T E"],
    steps: Int[Tensor, " N"],
    cache_rows: Int[Tensor, "2 N W T"] | None,
    context: Float[Tensor, "R C"],
    *,
    heads: int,
    scale: float,
) -> None:
    """Launch: write every row's new key and value into the cache, and attend to it."""
    _, kv_heads, capacity, width = keys.shape
    rows, table = len(qkv), steps if cache_rows is None else cache_rows
    _self_attention_kernel[(rows, heads)](
        qkv,
        keys,
        values,
        steps,
        table,
        context,
        scale,
        qkv.stride(0),
        keys.stride(0),
        keys.stride(1),
        table.stride(0),
        HEADS=heads,
        KV_HEADS=kv_heads,
        E=width,
        E_PAD=triton.next_power_of_2(width),
        BEAM=rows // len(steps),
        CAPACITY=capacity,
        BLOCK=32,
        num_warps=1,
        **launch_options(qkv),
    )


def cross_attention(
    query: Float[Tensor, "N Q H E"],
    keys: Float[Tensor, "N G S E"],
    values: Float[Tensor, "N G S E"],
    lengths: Int[Tensor, " N"],
    context: Float[Tensor, "N Q C"],
    *,
    scale: float,
    constant_memory: bool,
) -> None:
    """Launch: the queries of each sentence attend to the real positions of its memory."""
    sentences, queries, heads, width = query.shape
    columns = triton.next_power_of_2(width)
    if queries == 1:
        query_block, block, warps = 1, 32, 1
    else:
        query_block = 16 if queries <= 16 else 32 if queries <= 32 else 64
        block, warps = 32 if query_block == 16 or keys.shape[2] <= 32 else 64, 4
    _cross_attention_kernel[(sentences, heads, triton.cdiv(queries, query_block))](
        query,
        keys,
        values,
        lengths,
        context,
        scale,
        queries,
        query.stride(0),
        query.stride(1),
        *keys.stride()[:3],
        HEADS=heads,
        KV_HEADS=keys.shape[1],
        E=width,
        E_PAD=columns if queries == 1 else max(columns, 16),
        BLOCK_Q=query_block,
        BLOCK=block,
        PRECISION="ieee" if keys.element_size() == 4 else "tf32",
        CONSTANT_MEMORY=constant_memory,
        num_warps=warps,
        **launch_options(query),
    )


def write_cache(
    keys_values: Float[Tensor, "B S C"],
    slots: Int[Tensor, " B"],
    cache: Float[Tensor, "L 2 N G R E"],
) -> None:
    """Launch: write keys and values of all layers, concatenated, into slots of a cache."""
    layers, both, sentences, kv_heads, capacity, width = cache.shape
    _write_cache_kernel[(len(keys_values), layers * both * kv_heads)](
        keys_values,
        slots,
        cache,
        keys_values.shape[1],
        sentences,
        capacity,
        KV_HEADS=kv_heads,
        E=width,
        E_PAD=triton.next_power_of_2(width),
        BLOCK=32,
        num_warps=2,
    )
