"""Triton: layer norm (Ba, Kiros and Hinton, 2016), a device function for other kernels."""

from typing import no_type_check

import triton
import triton.language as tl


@triton.jit
@no_type_check
def centre(x, inside, width, epsilon, AXIS: tl.constexpr):
    """x − mean, the mean, and 1 / √(variance + ε), over AXIS of a vector (0) or of rows (1).

    `inside` is true in the real columns; x has zeros in the others.
    """
    mean = tl.sum(x, AXIS) / width
    centred = tl.where(inside, x - (mean[:, None] if AXIS == 1 else mean), 0.0)
    return centred, mean, tl.rsqrt(tl.sum(centred * centred, AXIS) / width + epsilon)


@triton.jit
@no_type_check
def layer_norm(x, inside, weight, bias, width, epsilon, AXIS: tl.constexpr):
    """(x − mean) / √(variance + ε) · weight + bias; weight and bias are loaded already."""
    centred, _, rate = centre(x, inside, width, epsilon, AXIS)
    if AXIS == 1:
        rate, weight, bias = rate[:, None], weight[None, :], bias[None, :]
    return centred * rate * weight + bias
