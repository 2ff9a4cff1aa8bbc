"""Triton: cross-attention from the rows of a sentence to its source.

Imported only where Triton runs; `attention.py` has the definitions and chooses between the two.
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
def online_softmax(scaled_query, key, value, valid, maximum, denominator, context_sum):
    """A step of online softmax (Milakov and Gimelshein, 2018) over further keys and values."""
    score = tl.sum(scaled_query[None, :] * key.to(tl.float32), axis=1)
    score = tl.where(valid, score, float("-inf"))
    new_maximum = tl.maximum(maximum, tl.max(score, axis=0))
    weight = tl.exp2(score - new_maximum)
    decay = tl.exp2(maximum - new_maximum)
    denominator = denominator * decay + tl.sum(weight, axis=0)
    context_sum = context_sum * decay + tl.sum(weight[:, None] * value.to(tl.float32), axis=0)
    return new_maximum, denominator, context_sum


@triton.jit
@no_type_check
def _load_memory(keys, values, base, position, length, memory_position, column, inside):
    """The keys and values of some positions of a memory, zeros past its length."""
    cell = (base + position.to(tl.int64) * memory_position)[:, None] + column[None, :]
    inside_memory = (position < length)[:, None] & inside[None, :]
    return tl.load(keys + cell, mask=inside_memory, other=0.0), tl.load(
        values + cell, mask=inside_memory, other=0.0
    )


@triton.jit
@no_type_check
def _online_softmax_rows(
    scaled_query,
    key,
    value,
    valid,
    maximum,
    denominator,
    context_sum,
    scale,
    PRECISION: tl.constexpr,
):
    """The same for several queries."""
    score = tl.dot(scaled_query, tl.trans(key), input_precision=PRECISION) * (scale * LOG2E)
    score = tl.where(valid[None, :], score, float("-inf"))
    new_maximum = tl.maximum(maximum, tl.max(score, axis=1))
    weight = tl.exp2(score - new_maximum[:, None])
    decay = tl.exp2(maximum - new_maximum)
    update = tl.dot(weight.to(value.dtype), value, input_precision=PRECISION)
    denominator = denominator * decay + tl.sum(weight, axis=1)
    return new_maximum, denominator, context_sum * decay[:, None] + update


@triton.jit
@no_type_check
def _single_query_kernel(
    query,
    keys,
    values,
    lengths,
    context,
    scale,
    query_row,
    memory_row,
    memory_head,
    memory_position,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BLOCK: tl.constexpr,
    CONSTANT_MEMORY: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    if DEPENDENT and not CONSTANT_MEMORY:
        tl.extra.cuda.gdc_wait()
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    kv_head = head // (HEADS // KV_HEADS)
    length = tl.load(lengths + row)
    column = tl.arange(0, E_PAD)
    inside = column < E
    base = row * memory_row + kv_head * memory_head
    position = tl.arange(0, BLOCK)
    key, value = _load_memory(keys, values, base, position, length, memory_position, column, inside)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    scaled_query = tl.load(query + row * query_row + head * E + column, mask=inside, other=0.0)
    scaled_query = scaled_query.to(tl.float32) * (scale * LOG2E)
    zeros = tl.zeros([E_PAD], tl.float32)
    maximum, denominator, context_sum = online_softmax(
        scaled_query, key, value, position < length, -1.0e30, 0.0, zeros
    )
    for start in range(BLOCK, length, BLOCK):
        later_positions = start + position
        key, value = _load_memory(
            keys, values, base, later_positions, length, memory_position, column, inside
        )
        maximum, denominator, context_sum = online_softmax(
            scaled_query, key, value, later_positions < length, maximum, denominator, context_sum
        )
    result = tl.where(length > 0, context_sum / denominator, 0.0).to(context.dtype.element_ty)
    tl.store(context + (row * HEADS + head) * E + column, result, mask=inside)


@triton.jit
@no_type_check
def _multi_query_kernel(
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
    base = sentence * memory_row + kv_head * memory_head
    position = tl.arange(0, BLOCK)
    key, value = _load_memory(keys, values, base, position, length, memory_position, column, inside)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    query_index = tl.program_id(2) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    real_query = query_index < queries
    query_start = sentence * query_sentence + query_index.to(tl.int64) * query_row
    scaled_query = tl.load(
        query + query_start[:, None] + head * E + column[None, :],
        mask=real_query[:, None] & inside[None, :],
        other=0.0,
    )
    maximum = tl.full([BLOCK_Q], -1.0e30, tl.float32)
    denominator, context_sum = (
        tl.zeros([BLOCK_Q], tl.float32),
        tl.zeros([BLOCK_Q, E_PAD], tl.float32),
    )
    valid = position < length
    maximum, denominator, context_sum = _online_softmax_rows(
        scaled_query,
        key,
        value,
        valid,
        maximum,
        denominator,
        context_sum,
        scale,
        PRECISION=PRECISION,
    )
    for start in range(BLOCK, length, BLOCK):
        later_positions = start + position
        key, value = _load_memory(
            keys, values, base, later_positions, length, memory_position, column, inside
        )
        valid = later_positions < length
        maximum, denominator, context_sum = _online_softmax_rows(
            scaled_query,
            key,
            value,
            valid,
            maximum,
            denominator,
            context_sum,
            scale,
            PRECISION=PRECISION,
        )
    result = tl.where(length > 0, context_sum / tl.maximum(denominator, 1.0e-30)[:, None], 0.0)
    row = (sentence * queries + query_index) * HEADS + head
    tl.store(
        context + row[:, None] * E + column[None, :],
        result.to(context.dtype.element_ty),
        mask=real_query[:, None] & inside[None, :],
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
    capacity = keys.shape[2]
    strides = (keys.stride(0), keys.stride(1), keys.stride(2))
    sizes = {
        "HEADS": heads,
        "KV_HEADS": keys.shape[1],
        "E": width,
        "E_PAD": triton.next_power_of_2(width),
        "CONSTANT_MEMORY": constant_memory,
    }
    operands = (query, keys, values, lengths, context, scale)
    if queries == 1:
        _single_query_kernel[(sentences, heads)](
            *operands,
            query.stride(0),
            *strides,
            **sizes,
            BLOCK=32,
            num_warps=1,
            **launch_options(query),
        )
        return
    block = 16 if queries <= 16 else 32 if queries <= 32 else 64
    _multi_query_kernel[(sentences, heads, triton.cdiv(queries, block))](
        *operands,
        queries,
        query.stride(0),
        query.stride(1),
        *strides,
        **{**sizes, "E_PAD": max(sizes["E_PAD"], 16)},
        BLOCK_Q=block,
        BLOCK=32 if block == 16 or capacity <= 32 else 64,
        PRECISION="ieee" if keys.element_size() == 4 else "tf32",
        num_warps=4,
        **launch_options(query),
    )
