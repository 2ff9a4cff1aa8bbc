"""Triton: row-wise operations of a decoding Transformer: embedding, residual sum, layer norm.

Imported only where Triton runs; `dhyan.kernels.decode.residual_stream` has the definitions.
"""

from typing import no_type_check

import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import launch_options
from dhyan.kernels.triton.layer_norm import layer_norm


@triton.jit
@no_type_check
def row_norm(x, norm_weight, norm_bias, column, inside, epsilon, D: tl.constexpr):
    """The layer norm of a row, with weight and bias still to be loaded."""
    weight = tl.load(norm_weight + column, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(norm_bias + column, mask=inside, other=0.0).to(tl.float32)
    return layer_norm(x, inside, weight, bias, D, epsilon, AXIS=0)


@triton.jit
@no_type_check
def _embed_kernel(
    tokens,
    positions,
    embedding,
    position_vectors,
    norm_weight,
    norm_bias,
    residual,
    hidden,
    sums,
    scale,
    epsilon,
    BEAM: tl.constexpr,
    D: tl.constexpr,
    D_PAD: tl.constexpr,
    PARTS: tl.constexpr,
    PARTS_PAD: tl.constexpr,
    NORM: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, D_PAD)
    inside = column < D
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    token = tl.load(tokens + row).to(tl.int64)
    position = tl.load(positions + row // BEAM).to(tl.int64)
    x = tl.load(embedding + token * D + column, mask=inside, other=0.0).to(tl.float32) * scale
    x += tl.load(position_vectors + position * D + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual + row * D + column, x, mask=inside)
    if PARTS > 0:
        part = tl.arange(0, PARTS_PAD)
        cell = sums + (row * PARTS + part) * 2
        tl.store(cell, tl.where(part == 0, tl.sum(x, axis=0), 0.0), mask=part < PARTS)
        tl.store(cell + 1, tl.where(part == 0, tl.sum(x * x, axis=0), 0.0), mask=part < PARTS)
    if NORM:
        x = row_norm(x, norm_weight, norm_bias, column, inside, epsilon, D)
    tl.store(hidden + row * D + column, x.to(hidden.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def _add_norm_kernel(
    residual,
    update,
    bias,
    norm_weight,
    norm_bias,
    hidden,
    epsilon,
    D: tl.constexpr,
    D_PAD: tl.constexpr,
    UPDATE: tl.constexpr,
    POST_NORM: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, D_PAD)
    inside = column < D
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    x = tl.load(residual + row * D + column, mask=inside, other=0.0).to(tl.float32)
    if UPDATE:
        x += tl.load(update + row * D + column, mask=inside, other=0.0).to(tl.float32)
        x += tl.load(bias + column, mask=inside, other=0.0).to(tl.float32)
    normalized = row_norm(x, norm_weight, norm_bias, column, inside, epsilon, D)
    if UPDATE:
        new_residual = normalized if POST_NORM else x
        tl.store(
            residual + row * D + column, new_residual.to(residual.dtype.element_ty), mask=inside
        )
    tl.store(hidden + row * D + column, normalized.to(hidden.dtype.element_ty), mask=inside)


def embed(
    tokens: Int[Tensor, " R"],
    positions: Int[Tensor, " N"],
    embedding: Float[Tensor, "V D"],
    position_vectors: Float[Tensor, "T D"],
    norm: tuple[Float[Tensor, " D"], Float[Tensor, " D"], float] | None,
    residual: Float[Tensor, "R D"],
    hidden: Float[Tensor, "R D"],
    *,
    scale: float,
    sums: Float[Tensor, "R P 2"] | None = None,
) -> None:
    """Launch: token and position embeddings: the residual, and its layer norm.

    With `sums`, the sums of the residual and of its squares too, all in the first block.
    """
    norm_weight, norm_bias, epsilon = norm or (embedding, embedding, 0.0)
    width = embedding.shape[1]
    _embed_kernel[(len(tokens),)](
        tokens,
        positions,
        embedding,
        position_vectors,
        norm_weight,
        norm_bias,
        residual,
        hidden,
        residual if sums is None else sums,
        scale,
        epsilon,
        BEAM=len(tokens) // len(positions),
        D=width,
        D_PAD=triton.next_power_of_2(width),
        PARTS=0 if sums is None else sums.shape[1],
        PARTS_PAD=1 if sums is None else triton.next_power_of_2(sums.shape[1]),
        NORM=norm is not None,
        num_warps=_warps(width),
        **launch_options(residual),
    )


def add_norm(
    residual: Float[Tensor, "R D"],
    update: Float[Tensor, "R D"] | None,
    bias: Float[Tensor, " D"] | None,
    norm: tuple[Float[Tensor, " D"], Float[Tensor, " D"], float],
    hidden: Float[Tensor, "R D"],
    *,
    post_norm: bool,
) -> None:
    """Launch: add an update, if there is one, to the residual; and apply the layer norm."""
    norm_weight, norm_bias, epsilon = norm
    width = residual.shape[1]
    _add_norm_kernel[(len(residual),)](
        residual,
        residual if update is None else update,
        residual if bias is None else bias,
        norm_weight,
        norm_bias,
        hidden,
        epsilon,
        D=width,
        D_PAD=triton.next_power_of_2(width),
        UPDATE=update is not None,
        POST_NORM=post_norm,
        num_warps=_warps(width),
        **launch_options(residual),
    )


def _warps(width: int) -> int:
    return 1 if width <= 256 else 2 if width <= 512 else 4 if width <= 2048 else 8
