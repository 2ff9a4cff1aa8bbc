"""Triton: what a decoder does to every row by itself, in as few launches as may be.

Imported only where Triton runs; `road.py` has the definitions and chooses between the two.
"""

from typing import no_type_check

import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import early


@triton.jit
@no_type_check
def normed(x, gain, shift, column, inside, epsilon, D: tl.constexpr):
    """A row with mean 0 and spread 1, then gain and shift."""
    centred = tl.where(inside, x - tl.sum(x, axis=0) / D, 0.0)
    spread = tl.rsqrt(tl.sum(centred * centred, axis=0) / D + epsilon)
    by = tl.load(gain + column, mask=inside, other=0.0).to(tl.float32)
    to = tl.load(shift + column, mask=inside, other=0.0).to(tl.float32)
    return centred * spread * by + to


@triton.jit
@no_type_check
def _embed_kernel(
    words,
    places,
    table,
    positions,
    gain,
    shift,
    road,
    entering,
    sums,
    scale,
    epsilon,
    BEAM: tl.constexpr,
    D: tl.constexpr,
    D_PAD: tl.constexpr,
    PARTS: tl.constexpr,
    PARTS_PAD: tl.constexpr,
    NORM: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, D_PAD)
    inside = column < D
    if EARLY:
        tl.extra.cuda.gdc_wait()
    word = tl.load(words + row).to(tl.int64)
    place = tl.load(places + row // BEAM).to(tl.int64)
    x = tl.load(table + word * D + column, mask=inside, other=0.0).to(tl.float32) * scale
    x += tl.load(positions + place * D + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(road + row * D + column, x, mask=inside)
    if PARTS > 0:
        part = tl.arange(0, PARTS_PAD)
        cell = sums + (row * PARTS + part) * 2
        tl.store(cell, tl.where(part == 0, tl.sum(x, axis=0), 0.0), mask=part < PARTS)
        tl.store(cell + 1, tl.where(part == 0, tl.sum(x * x, axis=0), 0.0), mask=part < PARTS)
    if NORM:
        x = normed(x, gain, shift, column, inside, epsilon, D)
    tl.store(entering + row * D + column, x.to(entering.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def _join_kernel(
    road,
    found,
    bias,
    gain,
    shift,
    entering,
    epsilon,
    D: tl.constexpr,
    D_PAD: tl.constexpr,
    FOUND: tl.constexpr,
    POST: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, D_PAD)
    inside = column < D
    if EARLY:
        tl.extra.cuda.gdc_wait()
    x = tl.load(road + row * D + column, mask=inside, other=0.0).to(tl.float32)
    if FOUND:
        x += tl.load(found + row * D + column, mask=inside, other=0.0).to(tl.float32)
        x += tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    entered = normed(x, gain, shift, column, inside, epsilon, D)
    if FOUND:
        kept = entered if POST else x
        tl.store(road + row * D + column, kept.to(road.dtype.element_ty), mask=inside)
    tl.store(entering + row * D + column, entered.to(entering.dtype.element_ty), mask=inside)


def embed(
    words: Int[Tensor, " R"],
    places: Int[Tensor, " N"],
    table: Float[Tensor, "V D"],
    positions: Float[Tensor, "T D"],
    norm: tuple[Float[Tensor, " D"], Float[Tensor, " D"], float] | None,
    road: Float[Tensor, "R D"],
    entering: Float[Tensor, "R D"],
    *,
    scale: float,
    sums: Float[Tensor, "R P 2"] | None = None,
) -> None:
    """Launch: words and places as vectors on the road, and what enters the first step.

    With `sums`, those of the road and of its squares are told too, the first part all of them.
    """
    gain, shift, epsilon = norm or (table, table, 0.0)
    width = table.shape[1]
    _embed_kernel[(len(words),)](
        words,
        places,
        table,
        positions,
        gain,
        shift,
        road,
        entering,
        road if sums is None else sums,
        scale,
        epsilon,
        BEAM=len(words) // len(places),
        D=width,
        D_PAD=triton.next_power_of_2(width),
        PARTS=0 if sums is None else sums.shape[1],
        PARTS_PAD=1 if sums is None else triton.next_power_of_2(sums.shape[1]),
        NORM=norm is not None,
        num_warps=_warps(width),
        **early(road),
    )


def join(
    road: Float[Tensor, "R D"],
    found: Float[Tensor, "R D"] | None,
    bias: Float[Tensor, " D"] | None,
    norm: tuple[Float[Tensor, " D"], Float[Tensor, " D"], float],
    entering: Float[Tensor, "R D"],
    *,
    post: bool,
) -> None:
    """Launch: what a step found, if anything, joins the road; and the next step is made ready."""
    gain, shift, epsilon = norm
    width = road.shape[1]
    _join_kernel[(len(road),)](
        road,
        road if found is None else found,
        road if bias is None else bias,
        gain,
        shift,
        entering,
        epsilon,
        D=width,
        D_PAD=triton.next_power_of_2(width),
        FOUND=found is not None,
        POST=post,
        num_warps=_warps(width),
        **early(road),
    )


@triton.jit
@no_type_check
def _keep_kernel(
    known,
    slots,
    cache,
    length,
    sentences,
    room,
    G: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BLOCK: tl.constexpr,
):
    sentence = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    slot = tl.load(slots + sentence)
    column = tl.arange(0, E_PAD)
    given = known + sentence * length * tl.num_programs(1) * E + part * E
    kept = cache + (((part // G).to(tl.int64) * sentences + slot) * G + part % G) * room * E
    for start in range(0, length, BLOCK):
        place = start + tl.arange(0, BLOCK)
        real = (place < length)[:, None] & (column < E)[None, :]
        line = place[:, None] * (tl.num_programs(1) * E)
        x = tl.load(given + line + column[None, :], mask=real, other=0.0)
        tl.store(kept + place[:, None] * E + column[None, :], x, mask=real)


def keep(
    known: Float[Tensor, "B S C"],
    slots: Int[Tensor, " B"],
    cache: Float[Tensor, "L 2 N G R E"],
) -> None:
    """Launch: keys and values of all layers, side by side, go to these places of a cache."""
    layers, both, sentences, groups, room, width = cache.shape
    _keep_kernel[(len(known), layers * both * groups)](
        known,
        slots,
        cache,
        known.shape[1],
        sentences,
        room,
        G=groups,
        E=width,
        E_PAD=triton.next_power_of_2(width),
        BLOCK=32,
        num_warps=2,
    )


def _warps(width: int) -> int:
    return 1 if width <= 256 else 2 if width <= 512 else 4 if width <= 2048 else 8
