"""Triton: what beginnings have said, followed back to their first words.

Imported only where Triton runs; `choose.py` has the definition and chooses between the two.
"""

from typing import no_type_check

import triton
import triton.language as tl
from jaxtyping import Int
from torch import Tensor


@triton.jit
@no_type_check
def _back_kernel(
    said,
    grew_from,
    slots,
    lengths,
    last,
    told,
    room,
    longest,
    C: tl.constexpr,
    W: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    start = tl.load(slots + row // C).to(tl.int64) * room
    length = tl.load(lengths + row)
    at = tl.load(last + row)
    for back in range(length):
        place = length - 1 - back
        line = (start + place) * W + at
        tl.store(told + row * longest + place, tl.load(said + line))
        at = tl.load(grew_from + line)


def followed_back(
    said: Int[Tensor, "N T W"],
    grew_from: Int[Tensor, "N T W"],
    slots: Int[Tensor, " B"],
    lengths: Int[Tensor, "B C"],
    last: Int[Tensor, "B C"],
    told: Int[Tensor, "B C L"],
) -> None:
    """Launch: the words of hypotheses of these lengths, from their last beginnings."""
    count, longest = told.shape[1:]
    room, width = said.shape[1:]
    _back_kernel[(lengths.numel(),)](
        said,
        grew_from,
        slots,
        lengths,
        last,
        told,
        room,
        longest,
        C=count,
        W=width,
        num_warps=1,
    )
