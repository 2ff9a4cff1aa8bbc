"""Device functions of the recurrent kernels: matrix products of tiles, and reading order."""

from typing import no_type_check

import triton
import triton.language as tl


@triton.jit
@no_type_check
def read_position(step, length, direction, REVERSE: tl.constexpr):
    """The position a row reads at a step.

    One direction reads the real part from its end, the first if REVERSE, else the second; padding
    is read in its place.
    """
    reversed_rows = (direction + REVERSE) % 2 == 1
    return tl.where(reversed_rows & (step < length), length - 1 - step, step)


@triton.jit
@no_type_check
def add_product(
    total,
    left,
    right,
    real_rows,
    real_columns,
    LENGTH: tl.constexpr,
    STRIDE: tl.constexpr,
    INNER: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """A tile of a matrix product, added to `total`.

    `left` points to the rows and `right` to the columns, whose elements are STRIDE apart; both are
    LENGTH long.
    """
    for begin in range(0, LENGTH, INNER):
        inner = begin + tl.arange(0, INNER)
        in_range = inner < LENGTH
        a = tl.load(left[:, None] + inner[None, :], real_rows[:, None] & in_range[None, :], 0.0)
        b = tl.load(
            right[None, :] + inner[:, None] * STRIDE, in_range[:, None] & real_columns[None, :], 0.0
        )
        total = tl.dot(a, b, total, input_precision=PRECISION)
    return total
