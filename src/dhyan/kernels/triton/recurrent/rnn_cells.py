"""Triton: one time step of LSTM, GRU and Elman layers, forwards and backwards.

The gates are blocks of the layer's width: four for an LSTM (i, f, g, o), four for a GRU (r, z, and
the inputs' and the state's part of n), one for an Elman cell. Carried in single precision from step
to step is an LSTM's c, and h itself for the others.
"""

from typing import no_type_check

import triton
import triton.language as tl

from dhyan.kernels.triton.activations import sigmoid, tanh
from dhyan.kernels.triton.recurrent.tiles import add_product, tile_offsets


@triton.jit
@no_type_check
def row_lengths(lengths, rows, real_rows, steps, RAGGED: tl.constexpr, ROWS: tl.constexpr):
    """The length of every row: its own if RAGGED, else the number of steps."""
    return tl.load(lengths + rows, real_rows, 0) if RAGGED else tl.zeros([ROWS], tl.int32) + steps


@triton.jit
@no_type_check
def state_rows(
    rows, step, steps, length, direction, DIRECTIONS: tl.constexpr, REVERSE: tl.constexpr
):
    """Where the states of a step are, in tensors B T N.

    One direction reads the real part from its end, the first if REVERSE, else the second; padding
    is read in its place.
    """
    reversed_rows = (direction + REVERSE) % 2 == 1
    position = tl.where(reversed_rows & (step < length), length - 1 - step, step)
    return (rows * steps + position) * DIRECTIONS + direction


@triton.jit
@no_type_check
def load_gates(pointer, mask, CELL: tl.constexpr, WIDTH: tl.constexpr):
    """A tile of every gate block; of an Elman cell, four times the same."""
    a = tl.load(pointer, mask, 0.0).to(tl.float32)
    b, c, d = a, a, a
    if CELL != "rnn":
        b = tl.load(pointer + WIDTH, mask, 0.0).to(tl.float32)
        c = tl.load(pointer + 2 * WIDTH, mask, 0.0).to(tl.float32)
        d = tl.load(pointer + 3 * WIDTH, mask, 0.0).to(tl.float32)
    return a, b, c, d


@triton.jit
@no_type_check
def store_gates(pointer, a, b, c, d, mask, CELL: tl.constexpr, WIDTH: tl.constexpr):
    """Write a tile of every gate block; of an Elman cell, the only one."""
    dtype = pointer.dtype.element_ty
    tl.store(pointer, a.to(dtype), mask)
    if CELL != "rnn":
        tl.store(pointer + WIDTH, b.to(dtype), mask)
        tl.store(pointer + 2 * WIDTH, c.to(dtype), mask)
        tl.store(pointer + 3 * WIDTH, d.to(dtype), mask)


@triton.jit
@no_type_check
def add_gate_products(
    a,
    b,
    c,
    d,
    left,
    weight,
    real_rows,
    real_columns,
    LENGTH: tl.constexpr,
    WIDTH: tl.constexpr,
    CELL: tl.constexpr,
    STEP_INPUT: tl.constexpr,
    INNER: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The gates with a product added: of this step's inputs if STEP_INPUT, else of the state.

    Of a GRU's last two blocks one takes the inputs only, the other the state only.
    """
    BLOCK: tl.constexpr = WIDTH * LENGTH
    for begin in range(0, LENGTH, INNER):
        inner = begin + tl.arange(0, INNER)
        in_range = inner < LENGTH
        rows = tl.load(left[:, None] + inner[None, :], real_rows[:, None] & in_range[None, :], 0.0)
        weight_at, tile_mask = (
            weight[None, :] + inner[:, None],
            in_range[:, None] & real_columns[None, :],
        )
        a = tl.dot(rows, tl.load(weight_at, tile_mask, 0.0), a, input_precision=PRECISION)
        if CELL != "rnn":
            b = tl.dot(
                rows, tl.load(weight_at + BLOCK, tile_mask, 0.0), b, input_precision=PRECISION
            )
            if CELL == "lstm" or STEP_INPUT:
                c = tl.dot(
                    rows,
                    tl.load(weight_at + 2 * BLOCK, tile_mask, 0.0),
                    c,
                    input_precision=PRECISION,
                )
            if CELL == "lstm" or not STEP_INPUT:
                d = tl.dot(
                    rows,
                    tl.load(weight_at + 3 * BLOCK, tile_mask, 0.0),
                    d,
                    input_precision=PRECISION,
                )
    return a, b, c, d


@triton.jit
@no_type_check
def cell_forward(a, b, c, d, carried, CELL: tl.constexpr, FAST: tl.constexpr):
    """The activated gates, the new carry and the new state.

    LSTM (Hochreiter and Schmidhuber, 1997): c' = f c + i g, h' = o tanh(c'). GRU (Cho et al.,
    2014): n = tanh(W x + r U h), h' = (1 − z) n + z h. Elman (1990): h' = tanh(W x + U h).
    """
    if CELL == "lstm":
        a, b, d = sigmoid(a, FAST), sigmoid(b, FAST), sigmoid(d, FAST)
        c = tanh(c, FAST)
        carry = b * carried + a * c
        state = d * tanh(carry, FAST)
    elif CELL == "gru":
        a, b = sigmoid(a, FAST), sigmoid(b, FAST)
        c = tanh(c + a * d, FAST)
        carry = (1 - b) * c + b * carried
        state = carry
    else:
        a = tanh(a, FAST)
        carry = a
        state = a
    return a, b, c, d, carry, state


@triton.jit
@no_type_check
def cell_backward(
    gates,
    carry,
    next_carry,
    dstate,
    carried,
    real,
    mask,
    CELL: tl.constexpr,
    WIDTH: tl.constexpr,
    FAST: tl.constexpr,
):
    """The gradients of the gates before activation, and of what was carried into the step.

    `gates`, `carry` and `next_carry` are pointers: loads come where they are used, since registers
    are scarce.
    """
    dtype = gates.dtype.element_ty
    if CELL == "lstm":
        d = tl.load(gates + 3 * WIDTH, mask, 0.0).to(tl.float32)
        tanh_cell = tanh(tl.load(next_carry, mask, 0.0), FAST)
        dd = tl.where(real, dstate * tanh_cell * d * (1 - d), 0.0).to(dtype)
        dcell = carried + dstate * d * (1 - tanh_cell * tanh_cell)
        b = tl.load(gates + WIDTH, mask, 0.0).to(tl.float32)
        previous = tl.load(carry, mask, 0.0)
        db = tl.where(real, dcell * previous * b * (1 - b), 0.0).to(dtype)
        carried = dcell * b
        a = tl.load(gates, mask, 0.0).to(tl.float32)
        c = tl.load(gates + 2 * WIDTH, mask, 0.0).to(tl.float32)
        da = tl.where(real, dcell * c * a * (1 - a), 0.0).to(dtype)
        dc = tl.where(real, dcell * a * (1 - c * c), 0.0).to(dtype)
    elif CELL == "gru":
        dstate += carried
        b = tl.load(gates + WIDTH, mask, 0.0).to(tl.float32)
        c = tl.load(gates + 2 * WIDTH, mask, 0.0).to(tl.float32)
        previous = tl.load(carry, mask, 0.0)
        db = tl.where(real, dstate * (previous - c) * b * (1 - b), 0.0).to(dtype)
        carried = dstate * b
        dsum = tl.where(real, dstate * (1 - b) * (1 - c * c), 0.0)
        a = tl.load(gates, mask, 0.0).to(tl.float32)
        d = tl.load(gates + 3 * WIDTH, mask, 0.0).to(tl.float32)
        da, dc, dd = (dsum * d * a * (1 - a)).to(dtype), dsum.to(dtype), (dsum * a).to(dtype)
    else:
        a = tl.load(gates, mask, 0.0).to(tl.float32)
        da = tl.where(real, (dstate + carried) * (1 - a * a), 0.0).to(dtype)
        db, dc, dd = da, da, da
        carried = tl.zeros_like(carried)
    return da, db, dc, dd, carried


@triton.jit(do_not_specialize=["step", "steps", "batch"])
@no_type_check
def step_forward(
    input_gates,  # B T N (blocks × D): the inputs known beforehand times their weights
    step_inputs,  # B T I: inputs computed step by step
    step_weight,  # (blocks × D) I
    state_weight,  # N (blocks × D) D
    previous,  # B T N D: the state before each position; the next one is written
    carries,  # T+1 B N D
    gates,  # B T N (blocks × D)
    out,  # B T N D
    last,  # B N D
    lengths,  # B
    step,
    steps,
    batch,
    CELL: tl.constexpr,
    DIRECTIONS: tl.constexpr,
    WIDTH: tl.constexpr,
    STEP_INPUT: tl.constexpr,
    RAGGED: tl.constexpr,
    REVERSE: tl.constexpr,
    FAST: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """One step of every row; a row that has ended keeps its state and outputs zeros."""
    BLOCKS: tl.constexpr = 1 if CELL == "rnn" else 4
    direction = tl.program_id(2)
    rows, columns, real_rows, real_columns, tile_mask = tile_offsets(batch, WIDTH, ROWS, COLUMNS)
    length = row_lengths(lengths, rows, real_rows, steps, RAGGED, ROWS)
    current = state_rows(rows, step, steps, length, direction, DIRECTIONS, REVERSE)
    state_at = current[:, None] * WIDTH + columns[None, :]
    gates_at = current[:, None] * (BLOCKS * WIDTH) + columns[None, :]

    a, b, c, d = load_gates(input_gates + gates_at, tile_mask, CELL, WIDTH)
    a, b, c, d = add_gate_products(
        a, b, c, d,
        previous + current * WIDTH,
        state_weight + (direction * (BLOCKS * WIDTH) + columns) * WIDTH,
        real_rows, real_columns, WIDTH, WIDTH, CELL, False, INNER, PRECISION,
    )  # fmt: skip
    if STEP_INPUT:
        a, b, c, d = add_gate_products(
            a, b, c, d,
            step_inputs + (rows * steps + step) * STEP_INPUT,
            step_weight + columns * STEP_INPUT,
            real_rows, real_columns, STEP_INPUT, WIDTH, CELL, True, INNER, PRECISION,
        )  # fmt: skip

    carry_at = ((step * batch + rows) * DIRECTIONS + direction)[:, None] * WIDTH + columns[None, :]
    carried = tl.load(carries + carry_at, tile_mask, 0.0)
    a, b, c, d, carry, state = cell_forward(a, b, c, d, carried, CELL, FAST)
    dtype = out.dtype.element_ty
    store_gates(gates + gates_at, a, b, c, d, tile_mask, CELL, WIDTH)
    if RAGGED:
        real = (step < length)[:, None]
        tl.store(out + state_at, tl.where(real, state, 0.0).to(dtype), tile_mask)
        state = tl.where(real, state, tl.load(previous + state_at, tile_mask, 0.0).to(tl.float32))
        carry = tl.where(real, carry, carried)
    else:
        tl.store(out + state_at, state.to(dtype), tile_mask)
    tl.store(carries + carry_at + batch * (DIRECTIONS * WIDTH), carry, tile_mask)
    continues = step + 1 < steps
    following = state_rows(rows, step + 1, steps, length, direction, DIRECTIONS, REVERSE)
    tl.store(
        previous + following[:, None] * WIDTH + columns[None, :],
        state.to(dtype),
        tile_mask & continues,
    )
    final_at = (rows * DIRECTIONS + direction)[:, None] * WIDTH + columns[None, :]
    tl.store(last + final_at, state.to(dtype), tile_mask & (not continues))


@triton.jit(do_not_specialize=["step", "steps", "batch", "query_step"])
@no_type_check
def step_backward(
    dgates,  # B T N (blocks × D)
    state_weight,  # N (blocks × D) D
    dquery,  # B T Q: the query was made from the state
    query_weight,  # Q D
    dout,  # B T N D
    dlast,  # B N D
    dcarry,  # B N D: changed in place
    gates,  # B T N (blocks × D)
    carries,  # T+1 B N D
    lengths,  # B
    step,
    steps,
    batch,
    query_step,  # the step whose query is made from this step's state
    CELL: tl.constexpr,
    DIRECTIONS: tl.constexpr,
    WIDTH: tl.constexpr,
    QUERY: tl.constexpr,  # width of a projected query; −1 if it is the state itself; 0 if none
    OUT_STRIDE: tl.constexpr,
    RAGGED: tl.constexpr,
    REVERSE: tl.constexpr,
    FAST: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """From the gates' gradients at the next step to those at this one."""
    BLOCKS: tl.constexpr = 1 if CELL == "rnn" else 4
    direction = tl.program_id(2)
    rows, columns, real_rows, real_columns, tile_mask = tile_offsets(batch, WIDTH, ROWS, COLUMNS)
    length = row_lengths(lengths, rows, real_rows, steps, RAGGED, ROWS)
    current = state_rows(rows, step, steps, length, direction, DIRECTIONS, REVERSE)
    following = state_rows(rows, step + 1, steps, length, direction, DIRECTIONS, REVERSE)

    dstate = tl.zeros([ROWS, COLUMNS], tl.float32)
    if step + 1 < steps:
        left = dgates + following * (BLOCKS * WIDTH)
        right = state_weight + direction * (BLOCKS * WIDTH * WIDTH) + columns
        FIRST: tl.constexpr = 2 * WIDTH if CELL == "gru" else BLOCKS * WIDTH
        dstate = add_product(
            dstate, left, right, real_rows, real_columns, FIRST, WIDTH, INNER, PRECISION
        )
        if CELL == "gru":
            left += 3 * WIDTH
            right += 3 * WIDTH * WIDTH
            dstate = add_product(
                dstate, left, right, real_rows, real_columns, WIDTH, WIDTH, INNER, PRECISION
            )
    if QUERY != 0:  # noqa: SIM102 (without a query there is nothing to compile inside)
        if query_step < steps:
            if QUERY > 0:
                left = dquery + (rows * steps + query_step) * QUERY
                right = query_weight + columns
                dstate = add_product(
                    dstate, left, right, real_rows, real_columns, QUERY, WIDTH, INNER, PRECISION
                )
            else:
                query_at = (rows * steps + query_step)[:, None] * WIDTH + columns[None, :]
                dstate += tl.load(dquery + query_at, tile_mask, 0.0).to(tl.float32)

    final_at = (rows * DIRECTIONS + direction)[:, None] * WIDTH + columns[None, :]
    gates_at = current[:, None] * (BLOCKS * WIDTH) + columns[None, :]
    carry_at = ((step * batch + rows) * DIRECTIONS + direction)[:, None] * WIDTH + columns[None, :]
    real = (step < length)[:, None]
    at_end = tile_mask & (step == length - 1)[:, None]
    dstate += tl.load(dout + current[:, None] * OUT_STRIDE + columns[None, :], tile_mask, 0.0).to(
        tl.float32
    )
    dstate += tl.load(dlast + final_at, at_end, 0.0).to(tl.float32)
    carried = tl.load(dcarry + final_at, tile_mask, 0.0)
    da, db, dc, dd, carried = cell_backward(
        gates + gates_at,
        carries + carry_at,
        carries + carry_at + batch * (DIRECTIONS * WIDTH),
        dstate, carried, real, tile_mask, CELL, WIDTH, FAST,
    )  # fmt: skip
    store_gates(dgates + gates_at, da, db, dc, dd, tile_mask, CELL, WIDTH)
    tl.store(dcarry + final_at, carried, tile_mask & real)
