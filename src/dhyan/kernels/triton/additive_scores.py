"""Triton: additive scores of all pairs of queries and keys, and their gradients.

With E(x) = exp(2x), tanh(q + k) = 1 − 2 / (1 + E(q) E(k)). The exponentials are taken once for
every query and once for every key; then a pair costs a multiplication and a reciprocal, and two
reciprocals cost one, as 1/x = y / (x y). So it takes half the time of the hardware's own tanh and
is exact to single precision. The gradients run over all pairs twice, once for the queries and once
for the keys, and every sum has a fixed order: the same call gives the same bits.

E is stored 2^16 times smaller, and 1 + E E 2^32 times smaller and at most one, so that two of those
can be multiplied and nothing overflows; inputs are clamped to ±38. HARDWARE takes the GPU's own
instructions, which Triton's interpreter does not have.
"""

from typing import no_type_check

import torch
import triton
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad
from triton import language as tl

TWO_LOG2_E = tl.constexpr(2.885390043258667)  # 2 log₂ e, and what single precision leaves of it
TWO_LOG2_E_REST = tl.constexpr(3.85192597818218e-08)
LN_2 = tl.constexpr(0.6931471805599453)
MAX_INPUT = tl.constexpr(38.0)
SCALE = tl.constexpr(2.0**-16)
SCALED_ONE = tl.constexpr(2.0**-32)

ENOUGH_PROGRAMS = 1024  # that keep a GPU busy; with fewer, tiles are smaller
MAX_EXPONENTIALS = 17 << 17  # at a time: enough to keep the GPU busy, 9 MB


def pairwise_scores(
    query: Float[Tensor, "N T A"], keys: Float[Tensor, "N S A"], energy: Float[Tensor, " A"]
) -> Float[Tensor, "N T S"]:
    """The scores of all pairs, in tiles of queries and keys."""
    (count, queries, _), positions = query.shape, keys.shape[1]
    rows, columns = 32, 64
    if count * triton.cdiv(queries, rows) * triton.cdiv(positions, columns) < ENOUGH_PROGRAMS:
        columns = 32
    scores = torch.empty(count, queries, positions, dtype=torch.float32, device=query.device)
    query_exp, key_exp = (
        exponentials(query, rows, by_rows=True),
        exponentials(keys, columns, by_rows=True),
    )
    tiles, steps = (query_exp.shape[1], key_exp.shape[1]), query_exp.shape[2]
    _scores_of_tile[(count * tiles[0] * tiles[1],)](
        query_exp, key_exp, _pad_to_four(energy.float()), scores, queries, positions, steps,
        *tiles, ROWS=rows, COLUMNS=columns, HARDWARE=query.is_cuda,
    )  # fmt: skip
    return scores


def _pad_to_four(numbers: Float[Tensor, "*N M"]) -> Float[Tensor, "*N X"]:
    """The same, contiguous and aligned for wide loads, padded with zeros to a multiple of four."""
    padding = -numbers.shape[-1] % 4
    if padding or numbers.storage_offset() % 4:
        return pad(numbers, (0, padding))
    return numbers.contiguous()


def pairwise_gradient(
    outer: Float[Tensor, "N O A"],
    inner: Float[Tensor, "N I A"],
    energy: Float[Tensor, " A"],
    grad_scores: Float[Tensor, "N O I"],
) -> tuple[Float[Tensor, "N O A"], Float[Tensor, "X A"]]:
    """The gradient of the queries or of the keys; and Σ grad score / (1 + E E), by program.

    A few of the N at a time, so that few exponentials are stored at once.
    """
    count, outers, width = outer.shape
    rows = min(32, triton.next_power_of_2(outers))
    tiles = triton.cdiv(outers, rows)
    result = torch.empty_like(outer)
    sigmoid_sums = torch.empty(count * tiles, width, dtype=torch.float32, device=outer.device)
    group = max(1, MAX_EXPONENTIALS // (width * (inner.shape[1] + 4)))
    for at in range(0, count, group):
        rows_of_group = slice(at, at + group)
        outputs = result[rows_of_group], sigmoid_sums[at * tiles : (at + group) * tiles]
        _gradient_of_some(
            outer[rows_of_group],
            inner[rows_of_group],
            energy,
            grad_scores[rows_of_group],
            *outputs,
            rows=rows,
        )
    return result, sigmoid_sums


def _gradient_of_some(
    outer: Float[Tensor, "N O A"],
    inner: Float[Tensor, "N I A"],
    energy: Float[Tensor, " A"],
    grad_scores: Float[Tensor, "N O I"],
    result: Float[Tensor, "N O A"],
    sigmoid_sums: Float[Tensor, "X A"],
    *,
    rows: int,
) -> None:
    count, outers, width = outer.shape
    columns = min(64, triton.next_power_of_2(width))
    key_exp = exponentials(inner, columns, by_rows=False)
    tiles, steps = (triton.cdiv(outers, rows), key_exp.shape[1]), key_exp.shape[2]
    _gradient_of_tile[(count * tiles[0] * tiles[1],)](
        outer, key_exp, energy, _pad_to_four(grad_scores), result, sigmoid_sums,
        outers, width, steps, *tiles, ROWS=rows, COLUMNS=columns, HARDWARE=outer.is_cuda,
    )  # fmt: skip


def exponentials(
    states: Float[Tensor, "N M A"], tile: int, *, by_rows: bool
) -> Float[Tensor, "N X Y Z"]:
    """E(x) of every element, in tiles of columns for a program, or, `by_rows`, in tiles of rows.

    A tile is contiguous and padded to a multiple of four steps, with four more after the last, as
    programs read ahead. By rows, four of the width are adjacent.
    """
    count, rows, width = states.shape
    shared, walked = (rows, width) if by_rows else (width, rows)
    tiles, steps = triton.cdiv(shared, tile), triton.cdiv(walked, 4) * 4
    size = count * tiles * steps * tile
    result = torch.empty(size + 4 * tile, dtype=torch.float32, device=states.device)
    high, wide = (tiles * tile, steps) if by_rows else (steps, tiles * tile)
    down, across = triton.cdiv(high, 32), triton.cdiv(wide, 64)
    _exponentials_of_tile[(count * down * across,)](
        states, result, rows, width, tiles, steps, down, across,
        TILE=tile, BY_ROWS=by_rows, ROWS=32, COLUMNS=64,
    )  # fmt: skip
    return result[:size].view(count, tiles, steps, tile)


@triton.jit
@no_type_check
def exponential(x):
    """E(x), 2^16 times smaller."""
    x = tl.maximum(x.to(tl.float32), -MAX_INPUT, propagate_nan=tl.PropagateNan.ALL)
    x = tl.minimum(x, MAX_INPUT, propagate_nan=tl.PropagateNan.ALL)
    high = x * TWO_LOG2_E
    rest = tl.fma(x, TWO_LOG2_E, -high) + x * TWO_LOG2_E_REST
    return tl.exp2(high) * (SCALE + SCALE * LN_2 * rest)


@triton.jit
@no_type_check
def one_plus_product(first, second, HARDWARE: tl.constexpr):
    """1 + E(q) E(k), 2^32 times smaller and at most 1."""
    if HARDWARE:
        result = tl.inline_asm_elementwise(
            "fma.rn.ftz.sat.f32 $0, $1, $2, 0f2F800000;",  # + 2^-32
            "=f,f,f",
            [first, second],
            dtype=tl.float32,
            is_pure=True,
            pack=1,
        )
    else:
        result = tl.minimum(first * second + SCALED_ONE, 1.0)
    return result


@triton.jit
@no_type_check
def reciprocal(x, HARDWARE: tl.constexpr):
    """1 / x, to a unit in the last place."""
    if HARDWARE:
        result = tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        result = 1.0 / x
    return result


@triton.jit
@no_type_check
def _exponentials_of_tile(
    states,
    result,
    rows,
    width,
    tiles,
    steps,
    row_blocks,
    column_blocks,
    TILE: tl.constexpr,
    BY_ROWS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    program = tl.program_id(0)
    batch = (program // (row_blocks * column_blocks)).to(tl.int64)
    down = (program // column_blocks % row_blocks * ROWS + tl.arange(0, ROWS))[:, None]
    across = (program % column_blocks * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    real = (down < rows) & (across < width)
    numbers = tl.load(states + (batch * rows + down) * width + across, mask=real, other=0.0)
    shared, walked = (down, across) if BY_ROWS else (across, down)
    to = (batch * tiles + shared // TILE) * steps * TILE
    if BY_ROWS:
        to += (walked // 4 * TILE + shared % TILE) * 4 + walked % 4
    else:
        to += walked * TILE + shared % TILE
    tl.store(result + to, exponential(numbers), mask=(shared < tiles * TILE) & (walked < steps))


@triton.jit
@no_type_check
def load_four(offsets, HARDWARE: tl.constexpr):
    """The four elements from each pointer on."""
    if HARDWARE:
        a, b, c, d = tl.inline_asm_elementwise(
            "ld.global.v4.f32 {$0, $1, $2, $3}, [$4];",
            "=f,=f,=f,=f,l",
            [offsets.to(tl.int64)],
            dtype=(tl.float32, tl.float32, tl.float32, tl.float32),
            is_pure=True,
            pack=1,
        )
    else:
        a, b, c, d = (
            tl.load(offsets),
            tl.load(offsets + 1),
            tl.load(offsets + 2),
            tl.load(offsets + 3),
        )
    return a, b, c, d


@triton.jit
@no_type_check
def add_pair_scores(q0, k0, w0, q1, k1, w1, HARDWARE: tl.constexpr):
    """w0 / (1 + E(q0) E(k0)) + w1 / (1 + E(q1) E(k1)), for all queries and keys."""
    x = one_plus_product(q0[:, None], k0[None, :], HARDWARE)
    y = one_plus_product(q1[:, None], k1[None, :], HARDWARE)
    return (w0 * y + w1 * x) * reciprocal(x * y, HARDWARE)


@triton.jit
@no_type_check
def program_tile(row_tiles, column_tiles, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The batch row and the tile of this program, and the rows and columns of the tile."""
    program = tl.program_id(0)
    batch = (program // (row_tiles * column_tiles)).to(tl.int64)
    row_tile, column_tile = program // column_tiles % row_tiles, program % column_tiles
    rows = row_tile * ROWS + tl.arange(0, ROWS)
    columns = column_tile * COLUMNS + tl.arange(0, COLUMNS)
    return batch, row_tile, column_tile, rows, columns


@triton.jit
@no_type_check
def _scores_of_tile(
    query_exp,
    key_exp,
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
    batch, row_tile, column_tile, rows, columns = program_tile(
        row_tiles, column_tiles, ROWS, COLUMNS
    )
    left, right = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    # Nothing is loaded here: these zeros are spread over threads as a wide load would be.
    nowhere = key_exp + left[:, None] * COLUMNS + right[None, :]
    sums, total = tl.load(nowhere, mask=(rows < 0)[:, None], other=0.0), 0.0
    query_exp += (batch * row_tiles + row_tile) * steps * ROWS + 4 * left
    key_exp += (batch * column_tiles + column_tile) * steps * COLUMNS + 4 * right
    q0, q1, q2, q3 = load_four(query_exp, HARDWARE)
    k0, k1, k2, k3 = load_four(key_exp, HARDWARE)
    for _ in range(0, steps, 4):
        w0, w1 = tl.load(energy), tl.load(energy + 1)
        w2, w3 = tl.load(energy + 2), tl.load(energy + 3)
        sums += add_pair_scores(q0, k0, w0, q1, k1, w1, HARDWARE)
        sums += add_pair_scores(q2, k2, w2, q3, k3, w3, HARDWARE)
        total += w0 + w1 + w2 + w3
        query_exp, key_exp, energy = query_exp + 4 * ROWS, key_exp + 4 * COLUMNS, energy + 4
        q0, q1, q2, q3 = load_four(query_exp, HARDWARE)
        k0, k1, k2, k3 = load_four(key_exp, HARDWARE)
    result = total - sums * (2 * SCALED_ONE)
    to = scores + (batch * queries + rows[:, None]) * positions + columns[None, :]
    tl.store(to, result, mask=(rows < queries)[:, None] & (columns < positions)[None, :])


@triton.jit
@no_type_check
def add_pair_gradients(sums, squares, outer_exp, k0, d0, k1, d1, HARDWARE: tl.constexpr):
    """Add grad · r and grad · r² of two keys, with r = 1 / (1 + E E)."""
    x, y = (
        one_plus_product(outer_exp, k0[None, :], HARDWARE),
        one_plus_product(outer_exp, k1[None, :], HARDWARE),
    )
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
    key_exp,
    energy,
    grad_scores,
    result,
    sigmoid_sums,
    outers,
    width,
    steps,
    row_tiles,
    column_tiles,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    HARDWARE: tl.constexpr,
):
    """Σ grad · energy · (1 − tanh²) = 4 energy (Σ grad · r − Σ grad · r²), r = 1 / (1 + E E)."""
    batch, row_tile, column_tile, rows, columns = program_tile(
        row_tiles, column_tiles, ROWS, COLUMNS
    )
    real, inside = rows < outers, columns < width
    offsets = (batch * outers + rows[:, None]) * width + columns[None, :]
    outer_exp = exponential(
        tl.load(outer + offsets, mask=real[:, None] & inside[None, :], other=0.0)
    )
    grad_scores += (batch * outers + tl.minimum(rows, outers - 1)) * steps
    key_exp += (batch * column_tiles + column_tile) * steps * COLUMNS + tl.arange(0, COLUMNS)
    sums, squares = tl.zeros([ROWS, COLUMNS], tl.float32), tl.zeros([ROWS, COLUMNS], tl.float32)
    k0, k1 = tl.load(key_exp), tl.load(key_exp + COLUMNS)
    k2, k3 = tl.load(key_exp + 2 * COLUMNS), tl.load(key_exp + 3 * COLUMNS)
    d0, d1, d2, d3 = load_four(grad_scores, HARDWARE)
    for at in range(4, steps + 4, 4):
        sums, squares = add_pair_gradients(sums, squares, outer_exp, k0, d0, k1, d1, HARDWARE)
        sums, squares = add_pair_gradients(sums, squares, outer_exp, k2, d2, k3, d3, HARDWARE)
        more = tl.where(at < steps, 4, 0)
        grad_scores, key_exp = grad_scores + more, key_exp + more * COLUMNS
        k0, k1 = tl.load(key_exp), tl.load(key_exp + COLUMNS)
        k2, k3 = tl.load(key_exp + 2 * COLUMNS), tl.load(key_exp + 3 * COLUMNS)
        d0, d1, d2, d3 = load_four(grad_scores, HARDWARE)
    energies = tl.load(energy + columns, mask=inside, other=0.0).to(tl.float32)
    sums = tl.where(real[:, None], sums * SCALED_ONE, 0.0)
    grad = 4.0 * energies[None, :] * (sums - squares * (SCALED_ONE * SCALED_ONE))
    inside_both = real[:, None] & inside[None, :]
    tl.store(result + offsets, grad.to(result.dtype.element_ty), mask=inside_both)
    sigmoid_sums += (batch * row_tiles + row_tile) * width + columns
    tl.store(sigmoid_sums, tl.sum(sums, axis=0), mask=inside)
