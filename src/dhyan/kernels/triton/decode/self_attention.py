"""Triton: a new word joins what its row has said, and looks at all of it.

Imported only where Triton runs; `attending.py` has the definitions and chooses between the two.
"""

from typing import no_type_check

import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.triton.decode.cross_attention import LOG2E, weighed
from dhyan.kernels.triton.decode.dependent_launch import early


@triton.jit
@no_type_check
def _holders(origin, past, place, row, sentence, BEAM: tl.constexpr):
    """Which row was fed the word at each earlier place."""
    holder = row + past * 0
    if BEAM > 1:
        own = tl.load(origin + past, mask=past < place, other=0)
        holder = sentence * BEAM + own.to(tl.int64)
    return holder


@triton.jit
@no_type_check
def _past_kernel(
    joined,
    keys,
    values,
    places,
    origins,
    context,
    scale,
    joined_row,
    cache_row,
    cache_group,
    origin_parity,
    HEADS: tl.constexpr,
    GROUPS: tl.constexpr,
    E: tl.constexpr,
    E_PAD: tl.constexpr,
    BEAM: tl.constexpr,
    ROOM: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    group = head // (HEADS // GROUPS)
    sentence = row // BEAM
    column = tl.arange(0, E_PAD)
    inside = column < E
    place = tl.load(places + sentence)
    origin = origins + (place % 2) * origin_parity + row * ROOM
    past = tl.arange(0, BLOCK)
    holder = _holders(origin, past, place, row, sentence, BEAM)
    cell = (holder * cache_row + group * cache_group + past * E)[:, None] + column[None, :]
    seen = (past < place)[:, None] & inside[None, :]
    key = tl.load(keys + cell, mask=seen, other=0.0)
    value = tl.load(values + cell, mask=seen, other=0.0)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    line = joined + row * joined_row
    asked = tl.load(line + head * E + column, mask=inside, other=0.0).to(tl.float32)
    asked *= scale * LOG2E
    new_key = tl.load(line + (HEADS + group) * E + column, mask=inside, other=0.0)
    new_value = tl.load(line + (HEADS + GROUPS + group) * E + column, mask=inside, other=0.0)
    if head % (HEADS // GROUPS) == 0:
        own = row * cache_row + group * cache_group + place * E + column
        tl.store(keys + own, new_key, mask=inside)
        tl.store(values + own, new_value, mask=inside)
    top = tl.sum(asked * new_key.to(tl.float32), axis=0)
    mixed = new_value.to(tl.float32)
    top, total, mixed = weighed(asked, key, value, past < place, top, 1.0, mixed)
    for start in range(BLOCK, place, BLOCK):
        later = start + past
        holder = _holders(origin, later, place, row, sentence, BEAM)
        cell = (holder * cache_row + group * cache_group + later * E)[:, None] + column[None, :]
        seen = (later < place)[:, None] & inside[None, :]
        key = tl.load(keys + cell, mask=seen, other=0.0)
        value = tl.load(values + cell, mask=seen, other=0.0)
        top, total, mixed = weighed(asked, key, value, later < place, top, total, mixed)
    found = (mixed / total).to(context.dtype.element_ty)
    tl.store(context + (row * HEADS + head) * E + column, found, mask=inside)


def past_attention(
    joined: Float[Tensor, "R J"],
    keys: Float[Tensor, "A G T E"],
    values: Float[Tensor, "A G T E"],
    places: Int[Tensor, " N"],
    origins: Int[Tensor, "2 N W T"] | None,
    context: Float[Tensor, "R C"],
    *,
    heads: int,
    scale: float,
) -> None:
    """Launch: every row's new word joins its cache and asks it; the answers go to `context`."""
    _, groups, room, width = keys.shape
    rows, table = len(joined), places if origins is None else origins
    _past_kernel[(rows, heads)](
        joined,
        keys,
        values,
        places,
        table,
        context,
        scale,
        joined.stride(0),
        keys.stride(0),
        keys.stride(1),
        table.stride(0),
        HEADS=heads,
        GROUPS=groups,
        E=width,
        E_PAD=triton.next_power_of_2(width),
        BEAM=rows // len(places),
        ROOM=room,
        BLOCK=32,
        num_warps=1,
        **early(joined),
    )
