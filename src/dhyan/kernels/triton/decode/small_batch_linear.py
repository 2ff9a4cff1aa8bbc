"""Triton: linear layers for few rows, with norm, activation and sum in one launch.

Imported only where Triton runs; `dhyan.kernels.decode.residual_stream` has the definitions.
"""

from dataclasses import dataclass
from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import launch_options
from dhyan.kernels.triton.decode.rowwise import row_norm
from dhyan.kernels.triton.layer_norm import centre

ACTIVATIONS = {"none": 0, "relu": 1, "gelu": 2}


@triton.jit
@no_type_check
def _activate(x, ACTIVATION: tl.constexpr):
    if ACTIVATION == 1:
        x = tl.maximum(x, 0.0)
    elif ACTIVATION == 2:
        x = 0.5 * x * (1.0 + tl.math.erf(x * 0.7071067811865476))
    return x


@triton.jit
@no_type_check
def _vector_kernel(
    x,
    weight,
    bias,
    norm_weight,
    norm_bias,
    residual,
    out,
    epsilon,
    outputs,
    K: tl.constexpr,
    K_PAD: tl.constexpr,
    RESIDUAL_PAD: tl.constexpr,
    BLOCK: tl.constexpr,
    NORM: tl.constexpr,
    ADD: tl.constexpr,
    ACTIVATION: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(1).to(tl.int64)
    column = tl.arange(0, K_PAD)
    inside = column < K
    output = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    real_output = output < outputs
    tile = tl.load(
        weight + output.to(tl.int64)[:, None] * K + column[None, :],
        mask=real_output[:, None] & inside[None, :],
        other=0.0,
    )
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    vector = tl.load(x + row * K + column, mask=inside, other=0.0).to(tl.float32)
    if NORM:
        vector = row_norm(vector, norm_weight, norm_bias, column, inside, epsilon, K)
        vector = vector.to(tile.dtype).to(tl.float32)
    y = tl.sum(tile.to(tl.float32) * vector[None, :], axis=1)
    y += tl.load(bias + output, mask=real_output, other=0.0).to(tl.float32)
    y = _activate(y, ACTIVATION)
    cell = row * outputs + output
    if ADD:
        old = tl.load(residual + cell, mask=real_output, other=0.0)
        if RESIDUAL_PAD > 0:  # the norm applies to the residual
            column = tl.arange(0, RESIDUAL_PAD)
            inside = column < outputs
            whole = tl.load(residual + row * outputs + column, mask=inside, other=0.0)
            _, mean, rate = centre(whole, inside, outputs, epsilon, AXIS=0)
            scale = tl.load(norm_weight + output, mask=real_output, other=0.0)
            shift = tl.load(norm_bias + output, mask=real_output, other=0.0)
            old = (old - mean) * rate * scale + shift
        y += old
    tl.store(out + cell, y.to(out.dtype.element_ty), mask=real_output)


@triton.jit
@no_type_check
def _tile_kernel(
    x,
    weight,
    bias,
    weight_sums,
    residual,
    out,
    copy,
    sums,
    epsilon,
    outputs,
    rows,
    K: tl.constexpr,
    PARTS: tl.constexpr,
    PARTS_PAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NORM: tl.constexpr,
    ADD: tl.constexpr,
    ACTIVATION: tl.constexpr,
    PRECISION: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    block = tl.program_id(0)
    output = block.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    real_row, real_output = row < rows, output < outputs
    offset = tl.arange(0, BLOCK_K)
    bias_of = tl.load(bias + output, mask=real_output, other=0.0).to(tl.float32)
    weight_sum = tl.load(weight_sums + output, mask=real_output, other=0.0).to(tl.float32)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    y = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        column = start + offset
        real = column < K
        part = tl.load(
            x + row[:, None] * K + column[None, :],
            mask=real_row[:, None] & real[None, :],
            other=0.0,
        )
        tile = tl.load(
            weight + output[None, :] * K + column[:, None],
            mask=real[:, None] & real_output[None, :],
            other=0.0,
        )
        y = tl.dot(part, tile, y, input_precision=PRECISION)
    if NORM:
        part_of = tl.arange(0, PARTS_PAD)
        cell = (row[:, None] * PARTS + part_of[None, :]) * 2
        inside_sums = real_row[:, None] & (part_of < PARTS)[None, :]
        mean = tl.sum(tl.load(sums + cell, mask=inside_sums, other=0.0), axis=1) / K
        square = tl.sum(tl.load(sums + cell + 1, mask=inside_sums, other=0.0), axis=1) / K
        rate = tl.rsqrt(tl.maximum(square - mean * mean, 0.0) + epsilon)
        y = (y - mean[:, None] * weight_sum[None, :]) * rate[:, None]
    y = _activate(y + bias_of[None, :], ACTIVATION)
    cell = row[:, None] * outputs + output[None, :]
    real = real_row[:, None] & real_output[None, :]
    if ADD:
        y = tl.where(real, y + tl.load(residual + cell, mask=real, other=0.0), 0.0)
        own_sums = sums + (row * PARTS + block) * 2
        tl.store(own_sums, tl.sum(y, axis=1), mask=real_row)
        tl.store(own_sums + 1, tl.sum(y * y, axis=1), mask=real_row)
        tl.store(copy + cell, y.to(copy.dtype.element_ty), mask=real)
    tl.store(out + cell, y.to(out.dtype.element_ty), mask=real)


def vector_linear(
    x: Float[Tensor, "R K"],
    weight: Float[Tensor, "O K"],
    bias: Float[Tensor, " O"],
    norm: tuple[Float[Tensor, " N"], Float[Tensor, " N"], float] | None,
    residual: Float[Tensor, "R O"] | None,
    out: Float[Tensor, "R O"],
    *,
    activation: str = "none",
) -> None:
    """Launch, for a row or two: norm, product, bias, activation and sum in one.

    With a residual the norm applies to it, and it must be another tensor than `out`.
    """
    norm_weight, norm_bias, epsilon = norm or (weight, weight, 0.0)
    rows, width = x.shape
    outputs = len(weight)
    block = 4 if outputs <= 512 else 8 if outputs <= 4096 else 16
    _vector_kernel[(triton.cdiv(outputs, block), rows)](
        x,
        weight,
        bias,
        norm_weight,
        norm_bias,
        out if residual is None else residual,
        out,
        epsilon,
        outputs,
        K=width,
        K_PAD=triton.next_power_of_2(width),
        RESIDUAL_PAD=triton.next_power_of_2(outputs) if norm and residual is not None else 0,
        BLOCK=block,
        NORM=norm is not None and residual is None,
        ADD=residual is not None,
        ACTIVATION=ACTIVATIONS[activation],
        num_warps=4,
        **launch_options(x),
    )


@dataclass(frozen=True)
class Tile:
    """The tile sizes of a product: rows, outputs and inputs; its warps and pipeline stages."""

    rows: int
    outputs: int
    inputs: int
    warps: int
    stages: int


def tile_for(rows: int, outputs: int, width: int) -> Tile:
    """A tile that gives the device enough blocks, and no more."""
    max_inputs = max(16, triton.next_power_of_2(width))
    if outputs > 4096 and rows > 16:
        return Tile(64, 64, min(64, max_inputs), 4, 4)
    return Tile(16, 32, min(128, max_inputs), 4, 3)


def tile_linear(
    x: Float[Tensor, "R K"],
    weight: Float[Tensor, "O K"],
    bias: Float[Tensor, " O"],
    out: Float[Tensor, "R O"],
    sums: Float[Tensor, "R P 2"],
    *,
    copy: Float[Tensor, "R O"] | None,
    tile: Tile,
    weight_sums: Float[Tensor, " O"] | None = None,
    epsilon: float = 0.0,
    activation: str = "none",
) -> None:
    """Launch, for some rows: a norm before the product, or with a `copy` a sum after it.

    The norm, whose weight and bias are folded into the layer, is applied after the product: it
    subtracts the mean times `weight_sums`. The sum recomputes the row sums.
    """
    rows, width = x.shape
    outputs = len(weight)
    _tile_kernel[(triton.cdiv(outputs, tile.outputs), triton.cdiv(rows, tile.rows))](
        x,
        weight,
        bias,
        bias if weight_sums is None else weight_sums,
        out,
        out,
        out if copy is None else copy,
        sums,
        epsilon,
        outputs,
        rows,
        K=width,
        PARTS=sums.shape[1],
        PARTS_PAD=triton.next_power_of_2(sums.shape[1]),
        BLOCK_M=tile.rows,
        BLOCK_N=tile.outputs,
        BLOCK_K=tile.inputs,
        NORM=weight_sums is not None,
        ADD=copy is not None,
        ACTIVATION=ACTIVATIONS[activation],
        PRECISION="ieee" if weight.dtype == torch.float32 else "tf32",
        num_warps=tile.warps,
        num_stages=tile.stages,
        **launch_options(x),
    )
