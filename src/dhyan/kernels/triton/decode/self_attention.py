"""Triton: self-attention of a new token to its hypothesis, with a key-value cache.

Imported only where Triton runs; `attention.py` has the definitions and chooses between the two.
"""

from typing import no_type_check

import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.triton.decode.cross_attention import LOG2E, online_softmax
from dhyan.kernels.triton.decode.dependent_launch import launch_options


@triton.jit
@no_type_check
def _cache_rows_of(own_cache_rows, position, step, row, sentence, BEAM: tl.constexpr):
    """Which row of the cache holds each earlier position."""
    cache_row_of = row + position * 0
    if BEAM > 1:
        row_in_sentence = tl.load(own_cache_rows + position, mask=position < step, other=0)
        cache_row_of = sentence * BEAM + row_in_sentence.to(tl.int64)
    return cache_row_of


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
    position = tl.arange(0, BLOCK)
    cache_row_of = _cache_rows_of(own_cache_rows, position, step, row, sentence, BEAM)
    cell = (cache_row_of * cache_row + kv_head * cache_head + position * E)[:, None] + column[
        None, :
    ]
    inside_past = (position < step)[:, None] & inside[None, :]
    key = tl.load(keys + cell, mask=inside_past, other=0.0)
    value = tl.load(values + cell, mask=inside_past, other=0.0)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    qkv_start = qkv + row * qkv_row
    scaled_query = tl.load(qkv_start + head * E + column, mask=inside, other=0.0).to(tl.float32)
    scaled_query *= scale * LOG2E
    new_key = tl.load(qkv_start + (HEADS + kv_head) * E + column, mask=inside, other=0.0)
    new_value = tl.load(
        qkv_start + (HEADS + KV_HEADS + kv_head) * E + column, mask=inside, other=0.0
    )
    if head % (HEADS // KV_HEADS) == 0:
        own_cell = row * cache_row + kv_head * cache_head + step * E + column
        tl.store(keys + own_cell, new_key, mask=inside)
        tl.store(values + own_cell, new_value, mask=inside)
    maximum = tl.sum(scaled_query * new_key.to(tl.float32), axis=0)
    context_sum = new_value.to(tl.float32)
    maximum, denominator, context_sum = online_softmax(
        scaled_query, key, value, position < step, maximum, 1.0, context_sum
    )
    for start in range(BLOCK, step, BLOCK):
        later_positions = start + position
        cache_row_of = _cache_rows_of(own_cache_rows, later_positions, step, row, sentence, BEAM)
        cell = (cache_row_of * cache_row + kv_head * cache_head + later_positions * E)[
            :, None
        ] + column[None, :]
        inside_past = (later_positions < step)[:, None] & inside[None, :]
        key = tl.load(keys + cell, mask=inside_past, other=0.0)
        value = tl.load(values + cell, mask=inside_past, other=0.0)
        maximum, denominator, context_sum = online_softmax(
            scaled_query, key, value, later_positions < step, maximum, denominator, context_sum
        )
    result = (context_sum / denominator).to(context.dtype.element_ty)
    tl.store(context + (row * HEADS + head) * E + column, result, mask=inside)


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
