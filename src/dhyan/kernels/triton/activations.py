"""tanh and sigmoid for Triton kernels: the fast hardware approximation, or exact to fp32."""

from typing import no_type_check

import triton
import triton.language as tl


@triton.jit
@no_type_check
def tanh(x, FAST: tl.constexpr):
    """The hyperbolic tangent to 1e-7; by the GPU's own instruction if FAST, to 5e-4."""
    if FAST:
        y = tl.inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        y = 1.0 - 2.0 / (tl.exp(2.0 * x) + 1.0)
    return y


@triton.jit
@no_type_check
def sigmoid(x, FAST: tl.constexpr):
    """σ(x) = (1 + tanh(x / 2)) / 2."""
    return 0.5 + 0.5 * tanh(0.5 * x, FAST)
