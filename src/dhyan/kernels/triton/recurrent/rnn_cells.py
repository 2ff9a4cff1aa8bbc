"""One step of a recurrent layer, and one step back, for LSTM, GRU and plain cells.

A cell's gates stand in blocks of the layer's width: four for an LSTM (i, f, g, o), four for a GRU
(r, z, and the inputs' and the state's part of n), one for a plain cell. What is carried in single
precision from step to step is an LSTM's c, and h itself for the others.
"""

from typing import no_type_check

import triton
import triton.language as tl

from dhyan.kernels.triton.activations import sigmoid, tanh
from dhyan.kernels.triton.recurrent.tiles import placed, product


@triton.jit
@no_type_check
def gathered(
    a,
    b,
    c,
    d,
    left,
    weight,
    inside,
    wide,
    LENGTH: tl.constexpr,
    WIDTH: tl.constexpr,
    CELL: tl.constexpr,
    TOLD: tl.constexpr,
    INNER: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The blocks with the product of rows and weights added: of the inputs if TOLD, or the state.

    Of a GRU's last two blocks one takes the inputs only, the other the state only.
    """
    BLOCK: tl.constexpr = WIDTH * LENGTH
    for begin in range(0, LENGTH, INNER):
        inner = begin + tl.arange(0, INNER)
        there = inner < LENGTH
        rows = tl.load(left[:, None] + inner[None, :], inside[:, None] & there[None, :], 0.0)
        at, kept = weight[None, :] + inner[:, None], there[:, None] & wide[None, :]
        a = tl.dot(rows, tl.load(at, kept, 0.0), a, input_precision=PRECISION)
        if CELL != "rnn":
            b = tl.dot(rows, tl.load(at + BLOCK, kept, 0.0), b, input_precision=PRECISION)
            if CELL == "lstm" or TOLD:
                c = tl.dot(rows, tl.load(at + 2 * BLOCK, kept, 0.0), c, input_precision=PRECISION)
            if CELL == "lstm" or not TOLD:
                d = tl.dot(rows, tl.load(at + 3 * BLOCK, kept, 0.0), d, input_precision=PRECISION)
    return a, b, c, d


@triton.jit(do_not_specialize=["step", "steps", "batch"])
@no_type_check
def advance(
    given,  # B T N (blocks × D): what the inputs known beforehand give to the gates
    told,  # B T I: inputs that come step by step
    told_weight,  # (blocks × D) I
    state_weight,  # N (blocks × D) D
    before,  # B T N D: the state before each place is read; the next one is written
    carries,  # T+1 B N D
    gates,  # B T N (blocks × D)
    out,  # B T N D
    last,  # B N D
    lengths,  # B
    step,
    steps,
    batch,
    CELL: tl.constexpr,
    SIDES: tl.constexpr,
    WIDTH: tl.constexpr,
    TOLD: tl.constexpr,
    RAGGED: tl.constexpr,
    FLIPPED: tl.constexpr,
    FAST: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """One step of every row; a row that has ended keeps its state, and nothing comes out."""
    BLOCKS: tl.constexpr = 1 if CELL == "rnn" else 4
    side = tl.program_id(2)
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside, wide = rows < batch, columns < WIDTH
    kept = inside[:, None] & wide[None, :]
    length = tl.load(lengths + rows, inside, 0) if RAGGED else tl.zeros([ROWS], tl.int32) + steps
    here = (rows * steps + placed(step, length, side, FLIPPED)) * SIDES + side
    spot = here[:, None] * WIDTH + columns[None, :]
    block = here[:, None] * (BLOCKS * WIDTH) + columns[None, :]

    a = tl.load(given + block, kept, 0.0).to(tl.float32)
    b, c, d = a, a, a
    if CELL != "rnn":
        b = tl.load(given + block + WIDTH, kept, 0.0).to(tl.float32)
        c = tl.load(given + block + 2 * WIDTH, kept, 0.0).to(tl.float32)
        d = tl.load(given + block + 3 * WIDTH, kept, 0.0).to(tl.float32)
    a, b, c, d = gathered(
        a,
        b,
        c,
        d,
        before + here * WIDTH,
        state_weight + (side * (BLOCKS * WIDTH) + columns) * WIDTH,
        inside,
        wide,
        WIDTH,
        WIDTH,
        CELL,
        False,
        INNER,
        PRECISION,
    )
    if TOLD:
        a, b, c, d = gathered(
            a,
            b,
            c,
            d,
            told + (rows * steps + step) * TOLD,
            told_weight + columns * TOLD,
            inside,
            wide,
            TOLD,
            WIDTH,
            CELL,
            True,
            INNER,
            PRECISION,
        )

    earlier = ((step * batch + rows) * SIDES + side)[:, None] * WIDTH + columns[None, :]
    carried = tl.load(carries + earlier, kept, 0.0)
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
    kind = out.dtype.element_ty
    tl.store(gates + block, a.to(kind), kept)
    if CELL != "rnn":
        tl.store(gates + block + WIDTH, b.to(kind), kept)
        tl.store(gates + block + 2 * WIDTH, c.to(kind), kept)
        tl.store(gates + block + 3 * WIDTH, d.to(kind), kept)
    if RAGGED:
        real = (step < length)[:, None]
        tl.store(out + spot, tl.where(real, state, 0.0).to(kind), kept)
        state = tl.where(real, state, tl.load(before + spot, kept, 0.0).to(tl.float32))
        carry = tl.where(real, carry, carried)
    else:
        tl.store(out + spot, state.to(kind), kept)
    tl.store(carries + earlier + batch * (SIDES * WIDTH), carry, kept)
    more = step + 1 < steps
    then = (rows * steps + placed(step + 1, length, side, FLIPPED)) * SIDES + side
    tl.store(before + then[:, None] * WIDTH + columns[None, :], state.to(kind), kept & more)
    ended = (rows * SIDES + side)[:, None] * WIDTH + columns[None, :]
    tl.store(last + ended, state.to(kind), kept & (not more))


@triton.jit(do_not_specialize=["step", "steps", "batch", "asked"])
@no_type_check
def retreat(
    dgates,  # B T N (blocks × D)
    state_weight,  # N (blocks × D) D
    dquery,  # B T Q: of the query that the state became
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
    asked,  # the step whose query this step's state became
    CELL: tl.constexpr,
    SIDES: tl.constexpr,
    WIDTH: tl.constexpr,
    QUERY: tl.constexpr,  # the width of a mapped query; −1 if it is the state itself; 0 if none
    OUT_STRIDE: tl.constexpr,
    RAGGED: tl.constexpr,
    FLIPPED: tl.constexpr,
    FAST: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """From the gates' gradients at the next step to those at this one."""
    BLOCKS: tl.constexpr = 1 if CELL == "rnn" else 4
    side = tl.program_id(2)
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside, wide = rows < batch, columns < WIDTH
    kept = inside[:, None] & wide[None, :]
    length = tl.load(lengths + rows, inside, 0) if RAGGED else tl.zeros([ROWS], tl.int32) + steps
    here = (rows * steps + placed(step, length, side, FLIPPED)) * SIDES + side
    then = (rows * steps + placed(step + 1, length, side, FLIPPED)) * SIDES + side

    dstate = tl.zeros([ROWS, COLUMNS], tl.float32)
    if step + 1 < steps:
        left = dgates + then * (BLOCKS * WIDTH)
        right = state_weight + side * (BLOCKS * WIDTH * WIDTH) + columns
        FIRST: tl.constexpr = 2 * WIDTH if CELL == "gru" else BLOCKS * WIDTH
        dstate = product(dstate, left, right, inside, wide, FIRST, WIDTH, INNER, PRECISION)
        if CELL == "gru":
            left += 3 * WIDTH
            right += 3 * WIDTH * WIDTH
            dstate = product(dstate, left, right, inside, wide, WIDTH, WIDTH, INNER, PRECISION)
    if QUERY != 0:  # noqa: SIM102 (without a query there is nothing to compile inside)
        if asked < steps:
            if QUERY > 0:
                left = dquery + (rows * steps + asked) * QUERY
                right = query_weight + columns
                dstate = product(dstate, left, right, inside, wide, QUERY, WIDTH, INNER, PRECISION)
            else:
                at = (rows * steps + asked)[:, None] * WIDTH + columns[None, :]
                dstate += tl.load(dquery + at, kept, 0.0).to(tl.float32)

    ended = (rows * SIDES + side)[:, None] * WIDTH + columns[None, :]
    block = here[:, None] * (BLOCKS * WIDTH) + columns[None, :]
    earlier = ((step * batch + rows) * SIDES + side)[:, None] * WIDTH + columns[None, :]
    real = (step < length)[:, None]
    kind = gates.dtype.element_ty
    ending = kept & (step == length - 1)[:, None]
    dstate += tl.load(dout + here[:, None] * OUT_STRIDE + columns[None, :], kept, 0.0).to(
        tl.float32
    )
    dstate += tl.load(dlast + ended, ending, 0.0).to(tl.float32)
    carried = tl.load(dcarry + ended, kept, 0.0)
    # Each number is asked for where it is used, and stores come last: registers are few.
    if CELL == "lstm":
        d = tl.load(gates + block + 3 * WIDTH, kept, 0.0).to(tl.float32)
        shown = tanh(tl.load(carries + earlier + batch * (SIDES * WIDTH), kept, 0.0), FAST)
        dd = tl.where(real, dstate * shown * d * (1 - d), 0.0).to(kind)
        dcell = carried + dstate * d * (1 - shown * shown)
        b = tl.load(gates + block + WIDTH, kept, 0.0).to(tl.float32)
        before = tl.load(carries + earlier, kept, 0.0)
        db = tl.where(real, dcell * before * b * (1 - b), 0.0).to(kind)
        carried = dcell * b
        a = tl.load(gates + block, kept, 0.0).to(tl.float32)
        c = tl.load(gates + block + 2 * WIDTH, kept, 0.0).to(tl.float32)
        da = tl.where(real, dcell * c * a * (1 - a), 0.0).to(kind)
        dc = tl.where(real, dcell * a * (1 - c * c), 0.0).to(kind)
    elif CELL == "gru":
        dstate += carried
        b = tl.load(gates + block + WIDTH, kept, 0.0).to(tl.float32)
        c = tl.load(gates + block + 2 * WIDTH, kept, 0.0).to(tl.float32)
        before = tl.load(carries + earlier, kept, 0.0)
        db = tl.where(real, dstate * (before - c) * b * (1 - b), 0.0).to(kind)
        carried = dstate * b
        dsum = tl.where(real, dstate * (1 - b) * (1 - c * c), 0.0)
        a = tl.load(gates + block, kept, 0.0).to(tl.float32)
        d = tl.load(gates + block + 3 * WIDTH, kept, 0.0).to(tl.float32)
        da, dc, dd = (dsum * d * a * (1 - a)).to(kind), dsum.to(kind), (dsum * a).to(kind)
    else:
        a = tl.load(gates + block, kept, 0.0).to(tl.float32)
        da = tl.where(real, (dstate + carried) * (1 - a * a), 0.0).to(kind)
        carried = tl.zeros_like(carried)
    tl.store(dgates + block, da, kept)
    if CELL != "rnn":
        tl.store(dgates + block + WIDTH, db, kept)
        tl.store(dgates + block + 2 * WIDTH, dc, kept)
        tl.store(dgates + block + 3 * WIDTH, dd, kept)
    tl.store(dcarry + ended, carried, kept & real)
