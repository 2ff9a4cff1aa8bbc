"""Triton: products for few rows, with all that stands about them in one launch.

Imported only where Triton runs; `road.py` has the definitions and chooses between the two.
"""

from dataclasses import dataclass
from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import early
from dhyan.kernels.triton.decode.rowwise import normed

BENDS = {"none": 0, "relu": 1, "gelu": 2}


@triton.jit
@no_type_check
def _bent(x, BEND: tl.constexpr):
    if BEND == 1:
        x = tl.maximum(x, 0.0)
    elif BEND == 2:
        x = 0.5 * x * (1.0 + tl.math.erf(x * 0.7071067811865476))
    return x


@triton.jit
@no_type_check
def _vector_kernel(
    x,
    weight,
    bias,
    gain,
    shift,
    road,
    out,
    epsilon,
    outputs,
    K: tl.constexpr,
    K_PAD: tl.constexpr,
    ROAD_PAD: tl.constexpr,
    BLOCK: tl.constexpr,
    NORM: tl.constexpr,
    JOIN: tl.constexpr,
    BEND: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, K_PAD)
    inside = column < K
    line = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = line < outputs
    tile = tl.load(
        weight + line.to(tl.int64)[:, None] * K + column[None, :],
        mask=wanted[:, None] & inside[None, :],
        other=0.0,
    )
    if EARLY:
        tl.extra.cuda.gdc_wait()
    given = tl.load(x + row * K + column, mask=inside, other=0.0).to(tl.float32)
    if NORM:
        given = normed(given, gain, shift, column, inside, epsilon, K)
        given = given.to(tile.dtype).to(tl.float32)
    y = tl.sum(tile.to(tl.float32) * given[None, :], axis=1)
    y += tl.load(bias + line, mask=wanted, other=0.0).to(tl.float32)
    y = _bent(y, BEND)
    cell = row * outputs + line
    if JOIN:
        met = tl.load(road + cell, mask=wanted, other=0.0)
        if ROAD_PAD > 0:  # the road is what a norm makes of it
            column = tl.arange(0, ROAD_PAD)
            inside = column < outputs
            whole = tl.load(road + row * outputs + column, mask=inside, other=0.0)
            mean = tl.sum(whole, axis=0) / outputs
            centred = tl.where(inside, whole - mean, 0.0)
            spread = tl.rsqrt(tl.sum(centred * centred, axis=0) / outputs + epsilon)
            by = tl.load(gain + line, mask=wanted, other=0.0)
            met = (met - mean) * spread * by + tl.load(shift + line, mask=wanted, other=0.0)
        y += met
    tl.store(out + cell, y.to(out.dtype.element_ty), mask=wanted)


@triton.jit
@no_type_check
def _tile_kernel(
    x,
    weight,
    bias,
    across,
    road,
    out,
    copy,
    sums,
    epsilon,
    outputs,
    rows,
    K: tl.constexpr,
    PARTS: tl.constexpr,
    PARTS_PAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NORM: tl.constexpr,
    JOIN: tl.constexpr,
    BEND: tl.constexpr,
    PRECISION: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    block = tl.program_id(0)
    line = block.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    asked, wanted = row < rows, line < outputs
    step = tl.arange(0, BLOCK_K)
    bias_of = tl.load(bias + line, mask=wanted, other=0.0).to(tl.float32)
    across_of = tl.load(across + line, mask=wanted, other=0.0).to(tl.float32)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    y = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        column = start + step
        real = column < K
        part = tl.load(
            x + row[:, None] * K + column[None, :],
            mask=asked[:, None] & real[None, :],
            other=0.0,
        )
        tile = tl.load(
            weight + line[None, :] * K + column[:, None],
            mask=real[:, None] & wanted[None, :],
            other=0.0,
        )
        y = tl.dot(part, tile, y, input_precision=PRECISION)
    if NORM:
        part_of = tl.arange(0, PARTS_PAD)
        cell = (row[:, None] * PARTS + part_of[None, :]) * 2
        known = asked[:, None] & (part_of < PARTS)[None, :]
        mean = tl.sum(tl.load(sums + cell, mask=known, other=0.0), axis=1) / K
        square = tl.sum(tl.load(sums + cell + 1, mask=known, other=0.0), axis=1) / K
        spread = tl.rsqrt(tl.maximum(square - mean * mean, 0.0) + epsilon)
        y = (y - mean[:, None] * across_of[None, :]) * spread[:, None]
    y = _bent(y + bias_of[None, :], BEND)
    cell = row[:, None] * outputs + line[None, :]
    real = asked[:, None] & wanted[None, :]
    if JOIN:
        y = tl.where(real, y + tl.load(road + cell, mask=real, other=0.0), 0.0)
        summed = sums + (row * PARTS + block) * 2
        tl.store(summed, tl.sum(y, axis=1), mask=asked)
        tl.store(summed + 1, tl.sum(y * y, axis=1), mask=asked)
        tl.store(copy + cell, y.to(copy.dtype.element_ty), mask=real)
    tl.store(out + cell, y.to(out.dtype.element_ty), mask=real)


def vector_linear(
    x: Float[Tensor, "R K"],
    weight: Float[Tensor, "O K"],
    bias: Float[Tensor, " O"],
    norm: tuple[Float[Tensor, " N"], Float[Tensor, " N"], float] | None,
    road: Float[Tensor, "R O"] | None,
    out: Float[Tensor, "R O"],
    *,
    bend: str = "none",
) -> None:
    """Launch, for a row or two: norm, product, bias, bend and the way back to the road in one.

    On the way back the norm is the road's, which must then be another tensor than `out`.
    """
    gain, shift, epsilon = norm or (weight, weight, 0.0)
    rows, width = x.shape
    outputs = len(weight)
    block = 4 if outputs <= 512 else 8 if outputs <= 4096 else 16
    _vector_kernel[(triton.cdiv(outputs, block), rows)](
        x,
        weight,
        bias,
        gain,
        shift,
        out if road is None else road,
        out,
        epsilon,
        outputs,
        K=width,
        K_PAD=triton.next_power_of_2(width),
        ROAD_PAD=triton.next_power_of_2(outputs) if norm and road is not None else 0,
        BLOCK=block,
        NORM=norm is not None and road is None,
        JOIN=road is not None,
        BEND=BENDS[bend],
        num_warps=4,
        **early(x),
    )


@dataclass(frozen=True)
class Tile:
    """How a product is cut: rows, outputs and inputs at a time, warps, and stages in flight."""

    high: int
    wide: int
    deep: int
    warps: int
    stages: int


def tile_for(rows: int, outputs: int, width: int) -> Tile:
    """Tiles enough to keep the device busy, and no more of them than that."""
    deepest = max(16, triton.next_power_of_2(width))
    if outputs > 4096 and rows > 16:
        return Tile(64, 64, min(64, deepest), 4, 4)
    return Tile(16, 32, min(128, deepest), 4, 3)


def tile_linear(
    x: Float[Tensor, "R K"],
    weight: Float[Tensor, "O K"],
    bias: Float[Tensor, " O"],
    out: Float[Tensor, "R O"],
    sums: Float[Tensor, "R P 2"],
    *,
    copy: Float[Tensor, "R O"] | None,
    tile: Tile,
    across: Float[Tensor, " O"] | None = None,
    epsilon: float = 0.0,
    bend: str = "none",
) -> None:
    """Launch, for some rows: off the road by a norm, or with a `copy` to be made back to it.

    The norm, whose gain and shift are in the weights, comes after the product: it takes the mean
    times `across`, the sums of the weights, off again. What goes back tells its sums anew.
    """
    rows, width = x.shape
    outputs = len(weight)
    _tile_kernel[(triton.cdiv(outputs, tile.wide), triton.cdiv(rows, tile.high))](
        x,
        weight,
        bias,
        bias if across is None else across,
        out,
        out,
        out if copy is None else copy,
        sums,
        epsilon,
        outputs,
        rows,
        K=width,
        PARTS=sums.shape[1],
        PARTS_PAD=triton.next_power_of_2(sums.shape[1]),
        BLOCK_M=tile.high,
        BLOCK_N=tile.wide,
        BLOCK_K=tile.deep,
        NORM=across is not None,
        JOIN=copy is not None,
        BEND=BENDS[bend],
        PRECISION="ieee" if weight.dtype == torch.float32 else "tf32",
        num_warps=tile.warps,
        num_stages=tile.stages,
        **early(x),
    )
