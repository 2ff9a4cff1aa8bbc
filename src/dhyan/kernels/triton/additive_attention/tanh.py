"""tanh(q + k) from exponentials computed once for every q and once for every k.

With E(x) = exp(2x), tanh(q + k) = 1 − 2 / (1 + E(q) E(k)). E is stored 2^16 times smaller, and
1 + E E 2^32 times smaller and at most one, so that two of those can be multiplied and nothing
overflows; inputs are clamped to ±38. HARDWARE takes the GPU's own instructions, which
Triton's interpreter does not have.
"""

from typing import no_type_check

import triton
from triton import language as tl

TWO_LOG2_E = tl.constexpr(2.885390043258667)  # 2 log₂ e, and what single precision leaves of it
TWO_LOG2_E_REST = tl.constexpr(3.85192597818218e-08)
LN_2 = tl.constexpr(0.6931471805599453)
LARGEST = tl.constexpr(38.0)
SCALE = tl.constexpr(2.0**-16)
ONE = tl.constexpr(2.0**-32)


@triton.jit
@no_type_check
def exponential(x):
    """E(x), 2^16 times smaller."""
    x = tl.maximum(x.to(tl.float32), -LARGEST, propagate_nan=tl.PropagateNan.ALL)
    x = tl.minimum(x, LARGEST, propagate_nan=tl.PropagateNan.ALL)
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
        result = tl.minimum(first * second + ONE, 1.0)
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
