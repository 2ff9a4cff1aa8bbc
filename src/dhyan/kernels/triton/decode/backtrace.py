"""Triton: the tokens of hypotheses, followed back along their backpointers.

Imported only where Triton runs; `next_token.py` has the definition and chooses between the two.
"""

from typing import no_type_check

import triton
import triton.language as tl
from jaxtyping import Int
from torch import Tensor


@triton.jit
@no_type_check
def _backtrace_kernel(
    ids,
    backpointers,
    slots,
    lengths,
    last,
    output,
    capacity,
    max_length,
    C: tl.constexpr,
    W: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    start = tl.load(slots + row // C).to(tl.int64) * capacity
    length = tl.load(lengths + row)
    at = tl.load(last + row)
    for back in range(length):
        step = length - 1 - back
        cell = (start + step) * W + at
        tl.store(output + row * max_length + step, tl.load(ids + cell))
        at = tl.load(backpointers + cell)


def backtrace(
    ids: Int[Tensor, "N T W"],
    backpointers: Int[Tensor, "N T W"],
    slots: Int[Tensor, " B"],
    lengths: Int[Tensor, "B C"],
    last: Int[Tensor, "B C"],
    output: Int[Tensor, "B C L"],
) -> None:
    """Launch: the token ids of hypotheses of these lengths, from their last parents."""
    count, max_length = output.shape[1:]
    capacity, width = ids.shape[1:]
    _backtrace_kernel[(lengths.numel(),)](
        ids,
        backpointers,
        slots,
        lengths,
        last,
        output,
        capacity,
        max_length,
        C=count,
        W=width,
        num_warps=1,
    )
