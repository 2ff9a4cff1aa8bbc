"""One step of a recurrent decoder's attention, forwards and backwards.

Scores are additive (Bahdanau et al., 2015) or dot products (Luong et al., 2015). A program takes
one row; a row whose source is masked entirely gets a context of zeros.
"""

from typing import no_type_check

import triton
import triton.language as tl

from dhyan.kernels.triton.activations import tanh
from dhyan.kernels.triton.masked_softmax import softmax


@triton.jit
@no_type_check
def load_columns(
    table, memory_rows, real_positions, begin, WIDTH: tl.constexpr, INNER: tl.constexpr
):
    """Some columns of the keys or values of a row."""
    columns = begin + tl.arange(0, INNER)
    tile_mask = real_positions[:, None] & (columns < WIDTH)[None, :]
    return tl.load(table + memory_rows[:, None] * WIDTH + columns[None, :], tile_mask, 0.0)


@triton.jit(do_not_specialize=["step", "steps", "count"])
@no_type_check
def attend_step(
    query,  # B T A
    keys,  # B S A
    values,  # B S C
    mask,  # B S
    energy,  # A
    weights,  # B T S
    context,  # B T C
    scale,
    step,
    steps,
    count,
    ADDITIVE: tl.constexpr,
    WIDTH: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    FAST: tl.constexpr,
    POSITIONS: tl.constexpr,
    INNER: tl.constexpr,
):
    """The weights and the context of each row's query at a step."""
    row = tl.program_id(0).to(tl.int64)
    current = row * steps + step
    positions = tl.arange(0, POSITIONS)
    real_positions = positions < count
    unmasked = tl.load(mask + row * count + positions, real_positions, 0) != 0
    memory_rows = row * count + positions
    # The first values load while the scores are computed.
    value = load_columns(values, memory_rows, real_positions, 0, VALUE_WIDTH, INNER)
    partial = tl.zeros([POSITIONS, INNER], tl.float32)
    for begin in range(0, WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        real_columns = columns < WIDTH
        key = load_columns(keys, memory_rows, real_positions, begin, WIDTH, INNER).to(tl.float32)
        query_tile = tl.load(query + current * WIDTH + columns, real_columns, 0.0).to(tl.float32)
        if ADDITIVE:
            energy_tile = tl.load(energy + columns, real_columns, 0.0).to(tl.float32)
            partial += tanh(query_tile[None, :] + key, FAST) * energy_tile[None, :]
        else:
            partial += query_tile[None, :] * key
    weight = softmax(tl.sum(partial, 1) * scale, unmasked, 0, 0)
    tl.store(
        weights + current * count + positions, weight.to(weights.dtype.element_ty), real_positions
    )
    for begin in range(0, VALUE_WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        context_tile = tl.sum(weight[:, None] * value.to(tl.float32), 0).to(
            context.dtype.element_ty
        )
        tl.store(context + current * VALUE_WIDTH + columns, context_tile, columns < VALUE_WIDTH)
        if begin + INNER < VALUE_WIDTH:
            value = load_columns(
                values, memory_rows, real_positions, begin + INNER, VALUE_WIDTH, INNER
            )


@triton.jit(do_not_specialize=["step", "steps", "count"])
@no_type_check
def attend_step_backward(
    query,  # B T A
    keys,  # B S A
    values,  # B S C
    energy,  # A
    weights,  # B T S
    dcontext,  # B T C, or wider
    dscores,  # B T S
    dquery,  # B T A
    scale,
    step,
    steps,
    count,
    ADDITIVE: tl.constexpr,
    WIDTH: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    STRIDE: tl.constexpr,
    FAST: tl.constexpr,
    POSITIONS: tl.constexpr,
    INNER: tl.constexpr,
):
    """From the context's gradient to those of the scores, which are stored, and of the query."""
    row = tl.program_id(0).to(tl.int64)
    current = row * steps + step
    positions = tl.arange(0, POSITIONS)
    real_positions = positions < count
    memory_rows = row * count + positions
    key = load_columns(keys, memory_rows, real_positions, 0, WIDTH, INNER)
    weight = tl.load(weights + current * count + positions, real_positions, 0.0).to(tl.float32)
    partial = tl.zeros([POSITIONS, INNER], tl.float32)
    for begin in range(0, VALUE_WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        value = load_columns(values, memory_rows, real_positions, begin, VALUE_WIDTH, INNER).to(
            tl.float32
        )
        grad_tile = tl.load(dcontext + current * STRIDE + columns, columns < VALUE_WIDTH, 0.0).to(
            tl.float32
        )
        partial += grad_tile[None, :] * value
    dweight = tl.sum(partial, 1)
    dscore = weight * (dweight - tl.sum(weight * dweight, 0)) * scale
    tl.store(
        dscores + current * count + positions, dscore.to(dscores.dtype.element_ty), real_positions
    )
    for begin in range(0, WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        real_columns = columns < WIDTH
        if ADDITIVE:
            query_tile = tl.load(query + current * WIDTH + columns, real_columns, 0.0).to(
                tl.float32
            )
            energy_tile = tl.load(energy + columns, real_columns, 0.0).to(tl.float32)
            tanh_tile = tanh(query_tile[None, :] + key.to(tl.float32), FAST)
            query_grad = tl.sum(dscore[:, None] * (1.0 - tanh_tile * tanh_tile), 0) * energy_tile
        else:
            query_grad = tl.sum(dscore[:, None] * key.to(tl.float32), 0)
        tl.store(
            dquery + current * WIDTH + columns, query_grad.to(dquery.dtype.element_ty), real_columns
        )
        if begin + INNER < WIDTH:
            key = load_columns(keys, memory_rows, real_positions, begin + INNER, WIDTH, INNER)


@triton.jit(do_not_specialize=["steps", "count"])
@no_type_check
def keys_backward(
    query,  # B T A
    keys,  # B S A
    energy,  # A
    dscores,  # B T S
    dkeys,  # B S A
    denergy,  # B (parts of S) A: to be summed
    steps,
    count,
    WIDTH: tl.constexpr,
    FAST: tl.constexpr,
    POSITIONS: tl.constexpr,
    INNER: tl.constexpr,
):
    """The gradients of keys and energy from those of additive scores, over all steps of a row."""
    row = tl.program_id(0).to(tl.int64)
    positions = tl.program_id(2) * POSITIONS + tl.arange(0, POSITIONS)
    columns = tl.program_id(1) * INNER + tl.arange(0, INNER)
    real_positions, real_columns = positions < count, columns < WIDTH
    offsets = (row * count + positions)[:, None] * WIDTH + columns[None, :]
    tile_mask = real_positions[:, None] & real_columns[None, :]
    key = tl.load(keys + offsets, tile_mask, 0.0).to(tl.float32)
    energy_tile = tl.load(energy + columns, real_columns, 0.0).to(tl.float32)
    dkey = tl.zeros([POSITIONS, INNER], tl.float32)
    partial = tl.zeros([POSITIONS, INNER], tl.float32)
    for step in range(steps):
        current = row * steps + step
        query_tile = tl.load(query + current * WIDTH + columns, real_columns, 0.0).to(tl.float32)
        dscore = tl.load(dscores + current * count + positions, real_positions, 0.0).to(tl.float32)
        tanh_tile = tanh(query_tile[None, :] + key, FAST)
        dkey += dscore[:, None] * (1.0 - tanh_tile * tanh_tile)
        partial += dscore[:, None] * tanh_tile
    tl.store(dkeys + offsets, (dkey * energy_tile[None, :]).to(dkeys.dtype.element_ty), tile_mask)
    part = row * tl.num_programs(2) + tl.program_id(2)
    tl.store(denergy + part * WIDTH + columns, tl.sum(partial, 0), real_columns)
