"""The attentional vector of Luong's decoder at a step, forwards and backwards."""

from typing import no_type_check

import triton
import triton.language as tl

from dhyan.kernels.triton.activations import tanh
from dhyan.kernels.triton.recurrent.tiles import add_product


@triton.jit(do_not_specialize=["step", "steps", "batch"])
@no_type_check
def combine_step(
    context,  # B T C
    state,  # B T D
    weight,  # D (C + D)
    bias,  # D
    attentional,  # B T D
    next_input,  # B T D: the input of the next step
    step,
    steps,
    batch,
    WIDTH: tl.constexpr,
    CONTEXT: tl.constexpr,
    FAST: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """s̃ = tanh(W [c; s] + b) at a step."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    real_rows, real_columns = rows < batch, columns < WIDTH
    tile_mask = real_rows[:, None] & real_columns[None, :]
    current = rows * steps + step
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    right = weight + columns * (CONTEXT + WIDTH)
    left = context + current * CONTEXT
    total = add_product(total, left, right, real_rows, real_columns, CONTEXT, 1, INNER, PRECISION)
    left = state + current * WIDTH
    total = add_product(
        total, left, right + CONTEXT, real_rows, real_columns, WIDTH, 1, INNER, PRECISION
    )
    total += tl.load(bias + columns, real_columns, 0.0).to(tl.float32)[None, :]
    y = tanh(total, FAST).to(attentional.dtype.element_ty)
    offsets = current[:, None] * WIDTH + columns[None, :]
    tl.store(attentional + offsets, y, tile_mask)
    tl.store(next_input + offsets + WIDTH, y, tile_mask & (step + 1 < steps))


@triton.jit(do_not_specialize=["step", "steps", "batch"])
@no_type_check
def combine_step_backward(
    dgates,  # B T (blocks × D)
    step_weight,  # (blocks × D) D
    dattentional,  # B T D
    attentional,  # B T D
    dsum,  # B T D: before the tanh
    step,
    steps,
    batch,
    WIDTH: tl.constexpr,
    BLOCKS: tl.constexpr,
    INPUT_BLOCKS: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """The gradient of W [c; s] + b from that of s̃ and, by input feeding, of the next step."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    real_rows, real_columns = rows < batch, columns < WIDTH
    tile_mask = real_rows[:, None] & real_columns[None, :]
    current = rows * steps + step
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    if step + 1 < steps:
        left, right = dgates + (current + 1) * (BLOCKS * WIDTH), step_weight + columns
        total = add_product(
            total,
            left,
            right,
            real_rows,
            real_columns,
            INPUT_BLOCKS * WIDTH,
            WIDTH,
            INNER,
            PRECISION,
        )
    offsets = current[:, None] * WIDTH + columns[None, :]
    total += tl.load(dattentional + offsets, tile_mask, 0.0).to(tl.float32)
    y = tl.load(attentional + offsets, tile_mask, 0.0).to(tl.float32)
    tl.store(dsum + offsets, (total * (1 - y * y)).to(dsum.dtype.element_ty), tile_mask)
