"""All pairs of queries and keys: their additive scores, and what a slope of these means for each.

The exponentials of `hyperbolic` are taken once for every query and once for every key; then a pair
costs a multiplication and a reciprocal, and two reciprocals cost one, as 1/x = y / (x y). So it
takes half the time of the hardware's own tanh and is exact to single precision. The gradients run
over all pairs twice, once for the queries and once for the keys, and every sum has a fixed order:
the same call gives the same bits.
"""

from typing import no_type_check

import torch
import triton
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad
from triton import language as tl

from dhyan.kernels.triton.additive_attention.tanh import ONE, one_plus, powers, reciprocal

ENOUGH = 1024  # programs that keep a GPU busy; with fewer, each takes less
HELD = 17 << 17  # exponentials at a time: as many as keep it busy, 9 MB


def scores_of_many(
    query: Float[Tensor, "N T A"], keys: Float[Tensor, "N S A"], energy: Float[Tensor, " A"]
) -> Float[Tensor, "N T S"]:
    """The scores of all pairs, by programs that each take some queries and some keys."""
    (count, queries, _), positions = query.shape, keys.shape[1]
    rows, columns = 32, 64
    if count * triton.cdiv(queries, rows) * triton.cdiv(positions, columns) < ENOUGH:
        columns = 32
    scores = torch.empty(count, queries, positions, dtype=torch.float32, device=query.device)
    asked, known = exponentials(query, rows, turned=True), exponentials(keys, columns, turned=True)
    tiles, steps = (asked.shape[1], known.shape[1]), asked.shape[2]
    _scores_of_tile[(count * tiles[0] * tiles[1],)](
        asked, known, _filled(energy.float()), scores, queries, positions, steps,
        *tiles, ROWS=rows, COLUMNS=columns, HARDWARE=query.is_cuda,
    )  # fmt: skip
    return scores


def _filled(numbers: Float[Tensor, "*N M"]) -> Float[Tensor, "*N X"]:
    """The same in one piece that a wide load can begin at, with zeros up to a multiple of four."""
    missing = -numbers.shape[-1] % 4
    if missing or numbers.storage_offset() % 4:
        return pad(numbers, (0, missing))
    return numbers.contiguous()


def gradient(
    outer: Float[Tensor, "N O A"],
    inner: Float[Tensor, "N I A"],
    energy: Float[Tensor, " A"],
    slopes: Float[Tensor, "N O I"],
) -> tuple[Float[Tensor, "N O A"], Float[Tensor, "X A"]]:
    """What the slopes of the scores mean for queries or keys; Σ slope / (1 + E E), by program.

    A few of the N at a time, so that there are never many exponentials.
    """
    count, outers, width = outer.shape
    rows = min(32, triton.next_power_of_2(outers))
    tiles = triton.cdiv(outers, rows)
    found = torch.empty_like(outer)
    shares = torch.empty(count * tiles, width, dtype=torch.float32, device=outer.device)
    few = max(1, HELD // (width * (inner.shape[1] + 4)))
    for at in range(0, count, few):
        some = slice(at, at + few)
        own = found[some], shares[at * tiles : (at + few) * tiles]
        _gradient(outer[some], inner[some], energy, slopes[some], *own, rows=rows)
    return found, shares


def _gradient(
    outer: Float[Tensor, "N O A"],
    inner: Float[Tensor, "N I A"],
    energy: Float[Tensor, " A"],
    slopes: Float[Tensor, "N O I"],
    found: Float[Tensor, "N O A"],
    shares: Float[Tensor, "X A"],
    *,
    rows: int,
) -> None:
    count, outers, width = outer.shape
    columns = min(64, triton.next_power_of_2(width))
    known = exponentials(inner, columns, turned=False)
    tiles, steps = (triton.cdiv(outers, rows), known.shape[1]), known.shape[2]
    _gradient_of_tile[(count * tiles[0] * tiles[1],)](
        outer, known, energy, _filled(slopes), found, shares, outers, width, steps, *tiles,
        ROWS=rows, COLUMNS=columns, HARDWARE=outer.is_cuda,
    )  # fmt: skip


def exponentials(
    states: Float[Tensor, "N M A"], tile: int, *, turned: bool
) -> Float[Tensor, "N X Y Z"]:
    """E of every number, cut into columns as wide as the tile of a program, or, turned, into rows.

    So a program finds all that it takes in one piece, filled up to a multiple of four steps, with
    four more behind the last, as it reads ahead. Turned, four of the width lie together.
    """
    count, rows, width = states.shape
    shared, walked = (rows, width) if turned else (width, rows)
    tiles, steps = triton.cdiv(shared, tile), triton.cdiv(walked, 4) * 4
    size = count * tiles * steps * tile
    found = torch.empty(size + 4 * tile, dtype=torch.float32, device=states.device)
    high, wide = (tiles * tile, steps) if turned else (steps, tiles * tile)
    down, across = triton.cdiv(high, 32), triton.cdiv(wide, 64)
    _exponentials_of_tile[(count * down * across,)](
        states, found, rows, width, tiles, steps, down, across,
        TILE=tile, TURNED=turned, ROWS=32, COLUMNS=64,
    )  # fmt: skip
    return found[:size].view(count, tiles, steps, tile)


@triton.jit
@no_type_check
def _exponentials_of_tile(
    states,
    found,
    rows,
    width,
    tiles,
    steps,
    row_blocks,
    column_blocks,
    TILE: tl.constexpr,
    TURNED: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    program = tl.program_id(0)
    one = (program // (row_blocks * column_blocks)).to(tl.int64)
    down = (program // column_blocks % row_blocks * ROWS + tl.arange(0, ROWS))[:, None]
    across = (program % column_blocks * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    real = (down < rows) & (across < width)
    numbers = tl.load(states + (one * rows + down) * width + across, mask=real, other=0.0)
    shared, walked = (down, across) if TURNED else (across, down)
    to = (one * tiles + shared // TILE) * steps * TILE
    if TURNED:
        to += (walked // 4 * TILE + shared % TILE) * 4 + walked % 4
    else:
        to += walked * TILE + shared % TILE
    tl.store(found + to, powers(numbers), mask=(shared < tiles * TILE) & (walked < steps))


@triton.jit
@no_type_check
def four(places, HARDWARE: tl.constexpr):
    """The four numbers from each place on."""
    if HARDWARE:
        a, b, c, d = tl.inline_asm_elementwise(
            "ld.global.v4.f32 {$0, $1, $2, $3}, [$4];",
            "=f,=f,=f,=f,l",
            [places.to(tl.int64)],
            dtype=(tl.float32, tl.float32, tl.float32, tl.float32),
            is_pure=True,
            pack=1,
        )
    else:
        a, b, c, d = tl.load(places), tl.load(places + 1), tl.load(places + 2), tl.load(places + 3)
    return a, b, c, d


@triton.jit
@no_type_check
def both_worths(q0, k0, w0, q1, k1, w1, HARDWARE: tl.constexpr):
    """w0 / (1 + E(q0) E(k0)) + w1 / (1 + E(q1) E(k1)), for all queries and keys."""
    x = one_plus(q0[:, None], k0[None, :], HARDWARE)
    y = one_plus(q1[:, None], k1[None, :], HARDWARE)
    return (w0 * y + w1 * x) * reciprocal(x * y, HARDWARE)


@triton.jit
@no_type_check
def _scores_of_tile(
    asked,
    known,
    energy,
    scores,
    queries,
    positions,
    steps,
    row_tiles,
    column_tiles,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    HARDWARE: tl.constexpr,
):
    """Σ energy · tanh = Σ energy − 2 Σ energy / (1 + E E), over two of the width at a time."""
    program = tl.program_id(0)
    one = (program // (row_tiles * column_tiles)).to(tl.int64)
    row_tile, column_tile = program // column_tiles % row_tiles, program % column_tiles
    rows = row_tile * ROWS + tl.arange(0, ROWS)
    columns = column_tile * COLUMNS + tl.arange(0, COLUMNS)
    left, right = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    # Nothing is loaded here: these zeros are spread over threads as a wide load would be.
    nowhere = known + left[:, None] * COLUMNS + right[None, :]
    sums, total = tl.load(nowhere, mask=(rows < 0)[:, None], other=0.0), 0.0
    asked += (one * row_tiles + row_tile) * steps * ROWS + 4 * left
    known += (one * column_tiles + column_tile) * steps * COLUMNS + 4 * right
    q0, q1, q2, q3 = four(asked, HARDWARE)
    k0, k1, k2, k3 = four(known, HARDWARE)
    for _ in range(0, steps, 4):
        w0, w1 = tl.load(energy), tl.load(energy + 1)
        w2, w3 = tl.load(energy + 2), tl.load(energy + 3)
        sums += both_worths(q0, k0, w0, q1, k1, w1, HARDWARE)
        sums += both_worths(q2, k2, w2, q3, k3, w3, HARDWARE)
        total += w0 + w1 + w2 + w3
        asked, known, energy = asked + 4 * ROWS, known + 4 * COLUMNS, energy + 4
        q0, q1, q2, q3 = four(asked, HARDWARE)
        k0, k1, k2, k3 = four(known, HARDWARE)
    found = total - sums * (2 * ONE)
    to = scores + (one * queries + rows[:, None]) * positions + columns[None, :]
    tl.store(to, found, mask=(rows < queries)[:, None] & (columns < positions)[None, :])


@triton.jit
@no_type_check
def both_slopes(sums, squares, own, k0, d0, k1, d1, HARDWARE: tl.constexpr):
    """Add slope · r and slope · r² of two keys, with r = 1 / (1 + E E)."""
    x, y = one_plus(own, k0[None, :], HARDWARE), one_plus(own, k1[None, :], HARDWARE)
    over = reciprocal(x * y, HARDWARE)
    x, y = over * y, over * x
    first, second = d0[:, None] * x, d1[:, None] * y
    sums += first
    sums += second
    squares += first * x
    squares += second * y
    return sums, squares


@triton.jit
@no_type_check
def _gradient_of_tile(
    outer,
    known,
    energy,
    slopes,
    found,
    shares,
    outers,
    width,
    steps,
    row_tiles,
    column_tiles,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    HARDWARE: tl.constexpr,
):
    """Σ slope · energy · (1 − tanh²) = 4 energy (Σ slope · r − Σ slope · r²), r = 1 / (1 + E E)."""
    program = tl.program_id(0)
    one = (program // (row_tiles * column_tiles)).to(tl.int64)
    row_tile, column_tile = program // column_tiles % row_tiles, program % column_tiles
    rows = row_tile * ROWS + tl.arange(0, ROWS)
    columns = column_tile * COLUMNS + tl.arange(0, COLUMNS)
    real, inside = rows < outers, columns < width
    places = (one * outers + rows[:, None]) * width + columns[None, :]
    own = powers(tl.load(outer + places, mask=real[:, None] & inside[None, :], other=0.0))
    slopes += (one * outers + tl.minimum(rows, outers - 1)) * steps
    known += (one * column_tiles + column_tile) * steps * COLUMNS + tl.arange(0, COLUMNS)
    sums, squares = tl.zeros([ROWS, COLUMNS], tl.float32), tl.zeros([ROWS, COLUMNS], tl.float32)
    k0, k1 = tl.load(known), tl.load(known + COLUMNS)
    k2, k3 = tl.load(known + 2 * COLUMNS), tl.load(known + 3 * COLUMNS)
    d0, d1, d2, d3 = four(slopes, HARDWARE)
    for at in range(4, steps + 4, 4):
        sums, squares = both_slopes(sums, squares, own, k0, d0, k1, d1, HARDWARE)
        sums, squares = both_slopes(sums, squares, own, k2, d2, k3, d3, HARDWARE)
        more = tl.where(at < steps, 4, 0)
        slopes, known = slopes + more, known + more * COLUMNS
        k0, k1 = tl.load(known), tl.load(known + COLUMNS)
        k2, k3 = tl.load(known + 2 * COLUMNS), tl.load(known + 3 * COLUMNS)
        d0, d1, d2, d3 = four(slopes, HARDWARE)
    worth = tl.load(energy + columns, mask=inside, other=0.0).to(tl.float32)
    sums = tl.where(real[:, None], sums * ONE, 0.0)
    change = 4.0 * worth[None, :] * (sums - squares * (ONE * ONE))
    whole = real[:, None] & inside[None, :]
    tl.store(found + places, change.to(found.dtype.element_ty), mask=whole)
    shares += (one * row_tiles + row_tile) * width + columns
    tl.store(shares, tl.sum(sums, axis=0), mask=inside)
