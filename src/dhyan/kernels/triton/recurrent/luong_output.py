"""The blend of context and state that Luong's decoder says its words from, at a step and back."""

from typing import no_type_check

import triton
import triton.language as tl

from dhyan.kernels.triton.activations import tanh
from dhyan.kernels.triton.recurrent.tiles import product


@triton.jit(do_not_specialize=["step", "steps", "batch"])
@no_type_check
def blend(
    context,  # B T C
    told,  # B T D
    weight,  # D (C + D)
    bias,  # D
    blended,  # B T D
    fed,  # B T D: what the next step is fed
    step,
    steps,
    batch,
    WIDTH: tl.constexpr,
    DEPTH: tl.constexpr,
    FAST: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """s̃ = tanh(W [c; s] + b) at a step."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside, wide = rows < batch, columns < WIDTH
    kept = inside[:, None] & wide[None, :]
    now = rows * steps + step
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    right = weight + columns * (DEPTH + WIDTH)
    left = context + now * DEPTH
    total = product(total, left, right, inside, wide, DEPTH, 1, INNER, PRECISION)
    left = told + now * WIDTH
    total = product(total, left, right + DEPTH, inside, wide, WIDTH, 1, INNER, PRECISION)
    total += tl.load(bias + columns, wide, 0.0).to(tl.float32)[None, :]
    smooth = tanh(total, FAST).to(blended.dtype.element_ty)
    at = now[:, None] * WIDTH + columns[None, :]
    tl.store(blended + at, smooth, kept)
    tl.store(fed + at + WIDTH, smooth, kept & (step + 1 < steps))


@triton.jit(do_not_specialize=["step", "steps", "batch"])
@no_type_check
def blend_back(
    dgates,  # B T (blocks × D)
    fed_weight,  # (blocks × D) D
    dblended,  # B T D
    blended,  # B T D
    dsum,  # B T D: of what the tanh was taken
    step,
    steps,
    batch,
    WIDTH: tl.constexpr,
    BLOCKS: tl.constexpr,
    USED: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """What the next step, which was fed s̃, and its reader owe to W [c; s] + b."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside, wide = rows < batch, columns < WIDTH
    kept = inside[:, None] & wide[None, :]
    now = rows * steps + step
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    if step + 1 < steps:
        left, right = dgates + (now + 1) * (BLOCKS * WIDTH), fed_weight + columns
        total = product(total, left, right, inside, wide, USED * WIDTH, WIDTH, INNER, PRECISION)
    at = now[:, None] * WIDTH + columns[None, :]
    total += tl.load(dblended + at, kept, 0.0).to(tl.float32)
    smooth = tl.load(blended + at, kept, 0.0).to(tl.float32)
    tl.store(dsum + at, (total * (1 - smooth * smooth)).to(dsum.dtype.element_ty), kept)
