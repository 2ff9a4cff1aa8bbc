"""What the kernels of recurrent layers share: products of tiles, and reading orders."""

from typing import no_type_check

import triton
import triton.language as tl


@triton.jit
@no_type_check
def placed(step, length, side, FLIPPED: tl.constexpr):
    """The place a row reads at a step.

    One side reads the real part from its end, the first if FLIPPED, else the second; padding is
    read where it stands.
    """
    turned = (side + FLIPPED) % 2 == 1
    return tl.where(turned & (step < length), length - 1 - step, step)


@triton.jit
@no_type_check
def product(
    total,
    left,
    right,
    inside,
    wide,
    LENGTH: tl.constexpr,
    STRIDE: tl.constexpr,
    INNER: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """A tile of a matrix product, added to `total`.

    `left` points at where the rows begin and `right` at where the columns do, whose numbers lie
    STRIDE apart; both are LENGTH long.
    """
    for begin in range(0, LENGTH, INNER):
        inner = begin + tl.arange(0, INNER)
        there = inner < LENGTH
        a = tl.load(left[:, None] + inner[None, :], inside[:, None] & there[None, :], 0.0)
        b = tl.load(right[None, :] + inner[:, None] * STRIDE, there[:, None] & wide[None, :], 0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
    return total
