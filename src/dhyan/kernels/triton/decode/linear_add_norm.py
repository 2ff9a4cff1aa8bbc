"""Triton: products whose weights are read ahead, and the last of whose blocks makes the norm.

Imported only where Triton runs; `road.py` has the definitions and chooses between the two.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import early

HIGH, WIDE = 16, 64  # rows and outputs of a block


@triton.jit
@no_type_check
def _arrive_kernel(
    found,
    weight,
    bias,
    gain,
    shift,
    road,
    entering,
    arrivals,
    epsilon,
    rows,
    K: tl.constexpr,
    K_PAD: tl.constexpr,
    D: tl.constexpr,
    D_PAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    JOIN: tl.constexpr,
    POST: tl.constexpr,
    PRECISION: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    line = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    asked, wanted, deep = row < rows, line < D, tl.arange(0, K_PAD)
    tile = tl.load(
        weight + line.to(tl.int64)[None, :] * K + deep[:, None],
        mask=(deep < K)[:, None] & wanted[None, :],
        other=0.0,
    )
    bias_of = tl.load(bias + line, mask=wanted, other=0.0).to(tl.float32)
    cell = row[:, None] * D + line[None, :]
    real = asked[:, None] & wanted[None, :]
    column = tl.arange(0, D_PAD)
    if JOIN:
        by = tl.load(gain + column, mask=column < D, other=0.0).to(tl.float32)
        to = tl.load(shift + column, mask=column < D, other=0.0).to(tl.float32)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    if JOIN:
        met = tl.load(road + cell, mask=real, other=0.0)
    part = tl.load(
        found + row[:, None] * K + deep[None, :],
        mask=asked[:, None] & (deep < K)[None, :],
        other=0.0,
    )
    y = tl.dot(part, tile, input_precision=PRECISION) + bias_of[None, :]
    if not JOIN:
        tl.store(entering + cell, y.to(entering.dtype.element_ty), mask=real)
    else:
        y += met
        tl.store(road + cell, y, mask=real)
        # Who comes last finds the whole rows written, past the caches of single processors.
        tl.debug_barrier()
        before = tl.atomic_add(arrivals + tl.program_id(1), 1, sem="acq_rel")
        if before == tl.num_programs(0) - 1:
            inside = asked[:, None] & (column < D)[None, :]
            whole = row[:, None] * D + column[None, :]
            x = tl.load(road + whole, mask=inside, other=0.0, cache_modifier=".cg")
            mean = tl.sum(x, axis=1) / D
            centred = tl.where(inside, x - mean[:, None], 0.0)
            spread = tl.rsqrt(tl.sum(centred * centred, axis=1) / D + epsilon)
            entered = centred * spread[:, None] * by[None, :] + to[None, :]
            tl.store(entering + whole, entered.to(entering.dtype.element_ty), mask=inside)
            if POST:
                tl.store(road + whole, entered, mask=inside)
            tl.store(arrivals + tl.program_id(1), 0)


def arrive(
    found: Float[Tensor, "R K"],
    weight: Float[Tensor, "D K"],
    bias: Float[Tensor, " D"],
    entering: Float[Tensor, "R D"],
    *,
    road: Float[Tensor, "R D"] | None = None,
    norm: tuple[Float[Tensor, " D"], Float[Tensor, " D"], float] | None = None,
    arrivals: Int[Tensor, " M"] | None = None,
    post: bool = False,
) -> None:
    """Launch: a product, which with a road joins it; its norm is then what enters the next step.

    `arrivals` are zeros, one at least for every sixteen rows, and zeros again afterwards.
    """
    rows, width = found.shape
    outputs = len(weight)
    gain, shift, epsilon = norm or (bias, bias, 0.0)
    _arrive_kernel[(triton.cdiv(outputs, WIDE), triton.cdiv(rows, HIGH))](
        found,
        weight,
        bias,
        gain,
        shift,
        entering if road is None else road,
        entering,
        entering if arrivals is None else arrivals,
        epsilon,
        rows,
        K=width,
        K_PAD=max(16, triton.next_power_of_2(width)),
        D=outputs,
        D_PAD=triton.next_power_of_2(outputs),
        BLOCK_M=HIGH,
        BLOCK_N=WIDE,
        JOIN=road is not None,
        POST=post,
        PRECISION="ieee" if weight.dtype == torch.float32 else "tf32",
        num_warps=8,
        **early(found),
    )
