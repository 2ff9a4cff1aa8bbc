"""Triton: linear layer, residual sum and layer norm in one launch, with prefetched weights.

Imported only where Triton runs; `dhyan.kernels.decode.residual_stream` has the definitions.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import launch_options
from dhyan.kernels.triton.layer_norm import layer_norm

BLOCK_ROWS, BLOCK_OUTPUTS = 16, 64  # rows and outputs of a block


@triton.jit
@no_type_check
def _linear_add_norm_kernel(
    update,
    weight,
    bias,
    norm_weight,
    norm_bias,
    residual,
    hidden,
    block_counters,
    epsilon,
    rows,
    K: tl.constexpr,
    K_PAD: tl.constexpr,
    D: tl.constexpr,
    D_PAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    ADD: tl.constexpr,
    POST_NORM: tl.constexpr,
    PRECISION: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    output = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    real_row, real_output, inner = row < rows, output < D, tl.arange(0, K_PAD)
    tile = tl.load(
        weight + output.to(tl.int64)[None, :] * K + inner[:, None],
        mask=(inner < K)[:, None] & real_output[None, :],
        other=0.0,
    )
    bias_of = tl.load(bias + output, mask=real_output, other=0.0).to(tl.float32)
    cell = row[:, None] * D + output[None, :]
    inside_tile = real_row[:, None] & real_output[None, :]
    column = tl.arange(0, D_PAD)
    if ADD:
        weight_of_norm = tl.load(norm_weight + column, mask=column < D, other=0.0).to(tl.float32)
        bias_of_norm = tl.load(norm_bias + column, mask=column < D, other=0.0).to(tl.float32)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    if ADD:
        old = tl.load(residual + cell, mask=inside_tile, other=0.0)
    update_tile = tl.load(
        update + row[:, None] * K + inner[None, :],
        mask=real_row[:, None] & (inner < K)[None, :],
        other=0.0,
    )
    y = tl.dot(update_tile, tile, input_precision=PRECISION) + bias_of[None, :]
    if not ADD:
        tl.store(hidden + cell, y.to(hidden.dtype.element_ty), mask=inside_tile)
    else:
        y += old
        tl.store(residual + cell, y, mask=inside_tile)
        # The last block reads whole rows, past the caches of single processors.
        tl.debug_barrier()
        count = tl.atomic_add(block_counters + tl.program_id(1), 1, sem="acq_rel")
        if count == tl.num_programs(0) - 1:
            inside = real_row[:, None] & (column < D)[None, :]
            whole_rows = row[:, None] * D + column[None, :]
            x = tl.load(residual + whole_rows, mask=inside, other=0.0, cache_modifier=".cg")
            normalized = layer_norm(x, inside, weight_of_norm, bias_of_norm, D, epsilon, AXIS=1)
            tl.store(hidden + whole_rows, normalized.to(hidden.dtype.element_ty), mask=inside)
            if POST_NORM:
                tl.store(residual + whole_rows, normalized, mask=inside)
            tl.store(block_counters + tl.program_id(1), 0)


def linear_add_norm(
    update: Float[Tensor, "R K"],
    weight: Float[Tensor, "D K"],
    bias: Float[Tensor, " D"],
    hidden: Float[Tensor, "R D"],
    *,
    residual: Float[Tensor, "R D"] | None = None,
    norm: tuple[Float[Tensor, " D"], Float[Tensor, " D"], float] | None = None,
    block_counters: Int[Tensor, " M"] | None = None,
    post_norm: bool = False,
) -> None:
    """Launch: a linear layer; with a residual its output is added, and the layer norm is returned.

    `block_counters` are zeros, at least one for every sixteen rows, and zeros again afterwards.
    """
    rows, width = update.shape
    outputs = len(weight)
    norm_weight, norm_bias, epsilon = norm or (bias, bias, 0.0)
    _linear_add_norm_kernel[(triton.cdiv(outputs, BLOCK_OUTPUTS), triton.cdiv(rows, BLOCK_ROWS))](
        update,
        weight,
        bias,
        norm_weight,
        norm_bias,
        hidden if residual is None else residual,
        hidden,
        hidden if block_counters is None else block_counters,
        epsilon,
        rows,
        K=width,
        K_PAD=max(16, triton.next_power_of_2(width)),
        D=outputs,
        D_PAD=triton.next_power_of_2(outputs),
        BLOCK_M=BLOCK_ROWS,
        BLOCK_N=BLOCK_OUTPUTS,
        ADD=residual is not None,
        POST_NORM=post_norm,
        PRECISION="ieee" if weight.dtype == torch.float32 else "tf32",
        num_warps=8,
        **launch_options(update),
    )
