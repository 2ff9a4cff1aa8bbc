"""One look of every row at what it remembers, and what the look owes: scores, weights, context.

Scores are additive (Bahdanau et al., 2015) or dot products (Luong et al., 2015). A program looks
for one row; a row that may see nothing finds zeros.
"""

from typing import no_type_check

import triton
import triton.language as tl

from dhyan.kernels.triton.activations import tanh


@triton.jit
@no_type_check
def remembered(table, memory, there, begin, WIDTH: tl.constexpr, INNER: tl.constexpr):
    """Some columns of the keys or values of a row's places."""
    columns = begin + tl.arange(0, INNER)
    kept = there[:, None] & (columns < WIDTH)[None, :]
    return tl.load(table + memory[:, None] * WIDTH + columns[None, :], kept, 0.0)


@triton.jit(do_not_specialize=["step", "steps", "size"])
@no_type_check
def look(
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
    size,
    ADDITIVE: tl.constexpr,
    WIDTH: tl.constexpr,
    DEPTH: tl.constexpr,
    FAST: tl.constexpr,
    SEEN: tl.constexpr,
    INNER: tl.constexpr,
):
    """The weights and the context of each row's query at a step."""
    row = tl.program_id(0).to(tl.int64)
    now = row * steps + step
    places = tl.arange(0, SEEN)
    there = places < size
    seen = tl.load(mask + row * size + places, there, 0) != 0
    memory = row * size + places
    value = remembered(values, memory, there, 0, DEPTH, INNER)  # under way while others are weighed
    total = tl.zeros([SEEN, INNER], tl.float32)
    for begin in range(0, WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        wide = columns < WIDTH
        key = remembered(keys, memory, there, begin, WIDTH, INNER).to(tl.float32)
        asked = tl.load(query + now * WIDTH + columns, wide, 0.0).to(tl.float32)
        if ADDITIVE:
            weighed = tl.load(energy + columns, wide, 0.0).to(tl.float32)
            total += tanh(asked[None, :] + key, FAST) * weighed[None, :]
        else:
            total += asked[None, :] * key
    scores = tl.where(seen, tl.sum(total, 1) * scale, -float("inf"))
    top = tl.max(scores, 0)
    grown = tl.where(seen, tl.exp(scores - tl.where(top == -float("inf"), 0.0, top)), 0.0)
    whole = tl.sum(grown, 0)
    weight = grown / tl.where(whole == 0.0, 1.0, whole)
    tl.store(weights + now * size + places, weight.to(weights.dtype.element_ty), there)
    for begin in range(0, DEPTH, INNER):
        columns = begin + tl.arange(0, INNER)
        found = tl.sum(weight[:, None] * value.to(tl.float32), 0).to(context.dtype.element_ty)
        tl.store(context + now * DEPTH + columns, found, columns < DEPTH)
        if begin + INNER < DEPTH:
            value = remembered(values, memory, there, begin + INNER, DEPTH, INNER)


@triton.jit(do_not_specialize=["step", "steps", "size"])
@no_type_check
def look_back(
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
    size,
    ADDITIVE: tl.constexpr,
    WIDTH: tl.constexpr,
    DEPTH: tl.constexpr,
    STRIDE: tl.constexpr,
    FAST: tl.constexpr,
    SEEN: tl.constexpr,
    INNER: tl.constexpr,
):
    """From the context's gradient to those of the scores, which are kept, and of the query."""
    row = tl.program_id(0).to(tl.int64)
    now = row * steps + step
    places = tl.arange(0, SEEN)
    there = places < size
    memory = row * size + places
    key = remembered(keys, memory, there, 0, WIDTH, INNER)  # under way while values are asked for
    weight = tl.load(weights + now * size + places, there, 0.0).to(tl.float32)
    total = tl.zeros([SEEN, INNER], tl.float32)
    for begin in range(0, DEPTH, INNER):
        columns = begin + tl.arange(0, INNER)
        value = remembered(values, memory, there, begin, DEPTH, INNER).to(tl.float32)
        wanted = tl.load(dcontext + now * STRIDE + columns, columns < DEPTH, 0.0).to(tl.float32)
        total += wanted[None, :] * value
    dweight = tl.sum(total, 1)
    dscore = weight * (dweight - tl.sum(weight * dweight, 0)) * scale
    tl.store(dscores + now * size + places, dscore.to(dscores.dtype.element_ty), there)
    for begin in range(0, WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        wide = columns < WIDTH
        if ADDITIVE:
            asked = tl.load(query + now * WIDTH + columns, wide, 0.0).to(tl.float32)
            weighed = tl.load(energy + columns, wide, 0.0).to(tl.float32)
            smooth = tanh(asked[None, :] + key.to(tl.float32), FAST)
            owed = tl.sum(dscore[:, None] * (1.0 - smooth * smooth), 0) * weighed
        else:
            owed = tl.sum(dscore[:, None] * key.to(tl.float32), 0)
        tl.store(dquery + now * WIDTH + columns, owed.to(dquery.dtype.element_ty), wide)
        if begin + INNER < WIDTH:
            key = remembered(keys, memory, there, begin + INNER, WIDTH, INNER)


@triton.jit(do_not_specialize=["steps", "size"])
@no_type_check
def keys_back(
    query,  # B T A
    keys,  # B S A
    energy,  # A
    dscores,  # B T S
    dkeys,  # B S A
    denergy,  # B (parts of S) A: to be summed
    steps,
    size,
    WIDTH: tl.constexpr,
    FAST: tl.constexpr,
    SEEN: tl.constexpr,
    INNER: tl.constexpr,
):
    """What additive scores owe to keys and energy, over all steps of a row."""
    row = tl.program_id(0).to(tl.int64)
    places = tl.program_id(2) * SEEN + tl.arange(0, SEEN)
    columns = tl.program_id(1) * INNER + tl.arange(0, INNER)
    there, wide = places < size, columns < WIDTH
    at = (row * size + places)[:, None] * WIDTH + columns[None, :]
    kept = there[:, None] & wide[None, :]
    key = tl.load(keys + at, kept, 0.0).to(tl.float32)
    weighed = tl.load(energy + columns, wide, 0.0).to(tl.float32)
    dkey = tl.zeros([SEEN, INNER], tl.float32)
    total = tl.zeros([SEEN, INNER], tl.float32)
    for step in range(steps):
        now = row * steps + step
        asked = tl.load(query + now * WIDTH + columns, wide, 0.0).to(tl.float32)
        dscore = tl.load(dscores + now * size + places, there, 0.0).to(tl.float32)
        smooth = tanh(asked[None, :] + key, FAST)
        dkey += dscore[:, None] * (1.0 - smooth * smooth)
        total += dscore[:, None] * smooth
    tl.store(dkeys + at, (dkey * weighed[None, :]).to(dkeys.dtype.element_ty), kept)
    part = row * tl.num_programs(2) + tl.program_id(2)
    tl.store(denergy + part * WIDTH + columns, tl.sum(total, 0), wide)
