"""One step of a recurrent layer, forwards and backwards, for LSTM, GRU and Elman cells.

The gates are blocks of the layer's width: four for an LSTM (i, f, g, o), four for a GRU (r, z, and
the inputs' and the state's part of n), one for an Elman cell. Carried in single precision from step
to step is an LSTM's c, and h itself for the others.
"""

from typing import no_type_check

import triton
import triton.language as tl

from dhyan.kernels.triton.activations import sigmoid, tanh
from dhyan.kernels.triton.recurrent.tiles import add_product, read_position


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
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    real_rows, real_columns = rows < batch, columns < WIDTH
    tile_mask = real_rows[:, None] & real_columns[None, :]
    length = tl.load(lengths + rows, real_rows, 0) if RAGGED else tl.zeros([ROWS], tl.int32) + steps
    current = (
        rows * steps + read_position(step, length, direction, REVERSE)
    ) * DIRECTIONS + direction
    state_at = current[:, None] * WIDTH + columns[None, :]
    gates_at = current[:, None] * (BLOCKS * WIDTH) + columns[None, :]

    a = tl.load(input_gates + gates_at, tile_mask, 0.0).to(tl.float32)
    b, c, d = a, a, a
    if CELL != "rnn":
        b = tl.load(input_gates + gates_at + WIDTH, tile_mask, 0.0).to(tl.float32)
        c = tl.load(input_gates + gates_at + 2 * WIDTH, tile_mask, 0.0).to(tl.float32)
        d = tl.load(input_gates + gates_at + 3 * WIDTH, tile_mask, 0.0).to(tl.float32)
    a, b, c, d = add_gate_products(
        a,
        b,
        c,
        d,
        previous + current * WIDTH,
        state_weight + (direction * (BLOCKS * WIDTH) + columns) * WIDTH,
        real_rows,
        real_columns,
        WIDTH,
        WIDTH,
        CELL,
        False,
        INNER,
        PRECISION,
    )
    if STEP_INPUT:
        a, b, c, d = add_gate_products(
            a,
            b,
            c,
            d,
            step_inputs + (rows * steps + step) * STEP_INPUT,
            step_weight + columns * STEP_INPUT,
            real_rows,
            real_columns,
            STEP_INPUT,
            WIDTH,
            CELL,
            True,
            INNER,
            PRECISION,
        )

    carry_at = ((step * batch + rows) * DIRECTIONS + direction)[:, None] * WIDTH + columns[None, :]
    carried = tl.load(carries + carry_at, tile_mask, 0.0)
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
    dtype = out.dtype.element_ty
    tl.store(gates + gates_at, a.to(dtype), tile_mask)
    if CELL != "rnn":
        tl.store(gates + gates_at + WIDTH, b.to(dtype), tile_mask)
        tl.store(gates + gates_at + 2 * WIDTH, c.to(dtype), tile_mask)
        tl.store(gates + gates_at + 3 * WIDTH, d.to(dtype), tile_mask)
    if RAGGED:
        real = (step < length)[:, None]
        tl.store(out + state_at, tl.where(real, state, 0.0).to(dtype), tile_mask)
        state = tl.where(real, state, tl.load(previous + state_at, tile_mask, 0.0).to(tl.float32))
        carry = tl.where(real, carry, carried)
    else:
        tl.store(out + state_at, state.to(dtype), tile_mask)
    tl.store(carries + carry_at + batch * (DIRECTIONS * WIDTH), carry, tile_mask)
    continues = step + 1 < steps
    following = (
        rows * steps + read_position(step + 1, length, direction, REVERSE)
    ) * DIRECTIONS + direction
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
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    real_rows, real_columns = rows < batch, columns < WIDTH
    tile_mask = real_rows[:, None] & real_columns[None, :]
    length = tl.load(lengths + rows, real_rows, 0) if RAGGED else tl.zeros([ROWS], tl.int32) + steps
    current = (
        rows * steps + read_position(step, length, direction, REVERSE)
    ) * DIRECTIONS + direction
    following = (
        rows * steps + read_position(step + 1, length, direction, REVERSE)
    ) * DIRECTIONS + direction

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
                weight_at = (rows * steps + query_step)[:, None] * WIDTH + columns[None, :]
                dstate += tl.load(dquery + weight_at, tile_mask, 0.0).to(tl.float32)

    final_at = (rows * DIRECTIONS + direction)[:, None] * WIDTH + columns[None, :]
    gates_at = current[:, None] * (BLOCKS * WIDTH) + columns[None, :]
    carry_at = ((step * batch + rows) * DIRECTIONS + direction)[:, None] * WIDTH + columns[None, :]
    real = (step < length)[:, None]
    dtype = gates.dtype.element_ty
    at_end = tile_mask & (step == length - 1)[:, None]
    dstate += tl.load(dout + current[:, None] * OUT_STRIDE + columns[None, :], tile_mask, 0.0).to(
        tl.float32
    )
    dstate += tl.load(dlast + final_at, at_end, 0.0).to(tl.float32)
    carried = tl.load(dcarry + final_at, tile_mask, 0.0)
    # Loads come where they are used, and stores last: registers are scarce.
    if CELL == "lstm":
        d = tl.load(gates + gates_at + 3 * WIDTH, tile_mask, 0.0).to(tl.float32)
        tanh_cell = tanh(
            tl.load(carries + carry_at + batch * (DIRECTIONS * WIDTH), tile_mask, 0.0), FAST
        )
        dd = tl.where(real, dstate * tanh_cell * d * (1 - d), 0.0).to(dtype)
        dcell = carried + dstate * d * (1 - tanh_cell * tanh_cell)
        b = tl.load(gates + gates_at + WIDTH, tile_mask, 0.0).to(tl.float32)
        previous = tl.load(carries + carry_at, tile_mask, 0.0)
        db = tl.where(real, dcell * previous * b * (1 - b), 0.0).to(dtype)
        carried = dcell * b
        a = tl.load(gates + gates_at, tile_mask, 0.0).to(tl.float32)
        c = tl.load(gates + gates_at + 2 * WIDTH, tile_mask, 0.0).to(tl.float32)
        da = tl.where(real, dcell * c * a * (1 - a), 0.0).to(dtype)
        dc = tl.where(real, dcell * a * (1 - c * c), 0.0).to(dtype)
    elif CELL == "gru":
        dstate += carried
        b = tl.load(gates + gates_at + WIDTH, tile_mask, 0.0).to(tl.float32)
        c = tl.load(gates + gates_at + 2 * WIDTH, tile_mask, 0.0).to(tl.float32)
        previous = tl.load(carries + carry_at, tile_mask, 0.0)
        db = tl.where(real, dstate * (previous - c) * b * (1 - b), 0.0).to(dtype)
        carried = dstate * b
        dsum = tl.where(real, dstate * (1 - b) * (1 - c * c), 0.0)
        a = tl.load(gates + gates_at, tile_mask, 0.0).to(tl.float32)
        d = tl.load(gates + gates_at + 3 * WIDTH, tile_mask, 0.0).to(tl.float32)
        da, dc, dd = (dsum * d * a * (1 - a)).to(dtype), dsum.to(dtype), (dsum * a).to(dtype)
    else:
        a = tl.load(gates + gates_at, tile_mask, 0.0).to(tl.float32)
        da = tl.where(real, (dstate + carried) * (1 - a * a), 0.0).to(dtype)
        carried = tl.zeros_like(carried)
    tl.store(dgates + gates_at, da, tile_mask)
    if CELL != "rnn":
        tl.store(dgates + gates_at + WIDTH, db, tile_mask)
        tl.store(dgates + gates_at + 2 * WIDTH, dc, tile_mask)
        tl.store(dgates + gates_at + 3 * WIDTH, dd, tile_mask)
    tl.store(dcarry + final_at, carried, tile_mask & real)
