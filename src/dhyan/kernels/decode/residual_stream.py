"""Linear, norm and residual operations of a decoding step: PyTorch reference, or Triton kernels.

A row is one hypothesis of a sentence; the rows of a sentence are adjacent.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from dhyan.kernels.backend import use_triton

MAX_VECTOR_ROWS = 2  # up to which a product takes rows one by one
MAX_FUSED_ROWS = 256  # up to which the last block of a product applies the norm
MAX_FUSED_INPUTS = 512  # of a product whose weights are prefetched
ACTIVATIONS = {"none": lambda y: y, "relu": torch.relu, "gelu": functional.gelu}


@dataclass(frozen=True)
class Norm:
    """A layer norm: weight, bias and epsilon."""

    weight: Float[Tensor, " D"]
    bias: Float[Tensor, " D"]
    epsilon: float

    def __call__(self, x: Float[Tensor, "R D"]) -> Float[Tensor, "R D"]:
        """The definition, in single precision."""
        weight, bias = self.weight.float(), self.bias.float()
        return functional.layer_norm(x.float(), weight.shape, weight, bias, self.epsilon)

    @property
    def arguments(self) -> tuple[Tensor, Tensor, float]:
        """What a kernel takes."""
        return self.weight, self.bias, self.epsilon


@dataclass(frozen=True)
class Linear:
    """One linear layer, or several of the same input, with the sums of its weight's rows."""

    weight: Float[Tensor, "O K"]
    bias: Float[Tensor, " O"]
    row_sums: Float[Tensor, " O"]


@dataclass(frozen=True)
class RowSums:
    """Sums of the residual and of its squares, by blocks of columns; and a copy of the residual.

    The copy has the precision of the weights.
    """

    sums: Float[Tensor, "R P 2"]
    copy: Float[Tensor, "R D"]

    @classmethod
    def empty(cls, rows: int, like: Float[Tensor, "V D"]) -> "RowSums | None":
        """Memory for them, where `norm_linear` and `linear_add` have a kernel that needs any."""
        if rows <= MAX_VECTOR_ROWS or not use_triton(like):
            return None
        from dhyan.kernels.triton.decode.small_batch_linear import tile_for

        width = like.shape[1]
        blocks = -(-width // tile_for(rows, width, width).outputs)
        sums = torch.empty(rows, blocks, 2, device=like.device)
        return cls(sums, like.new_empty(rows, width))


def embed(
    tokens: Int[Tensor, " R"],
    positions: Int[Tensor, " N"],
    embedding: Float[Tensor, "V D"],
    position_vectors: Float[Tensor, "T D"],
    norm: Norm | None,
    *,
    scale: float,
    row_sums: RowSums | None = None,
) -> tuple[Float[Tensor, "R D"], Float[Tensor, "R D"]]:
    """Token and position embeddings in single precision: the residual, and its layer norm."""
    if use_triton(embedding):
        from dhyan.kernels.triton.decode import rowwise

        residual = torch.empty(len(tokens), embedding.shape[1], device=embedding.device)
        hidden = row_sums.copy if row_sums else torch.empty_like(residual, dtype=embedding.dtype)
        rowwise.embed(
            tokens,
            positions,
            embedding,
            position_vectors,
            norm.arguments if norm else None,
            residual,
            hidden,
            scale=scale,
            sums=row_sums.sums if row_sums else None,
        )
        return residual, hidden
    at = positions.repeat_interleave(len(tokens) // len(positions))
    residual = functional.embedding(tokens, embedding).float() * scale
    residual = residual + functional.embedding(at, position_vectors)
    return residual, (norm(residual) if norm else residual).to(embedding.dtype)


def add_norm(
    residual: Float[Tensor, "R D"],
    update: Float[Tensor, "R D"],
    bias: Float[Tensor, " D"],
    norm: Norm,
    *,
    post_norm: bool,
) -> Float[Tensor, "R D"]:
    """Add an update and its bias to the residual, in place; returns the layer norm.

    With `post_norm` the normalised vector is the new residual as well.
    """
    if use_triton(update):
        from dhyan.kernels.triton.decode import rowwise

        hidden = torch.empty_like(update)
        rowwise.add_norm(residual, update, bias, norm.arguments, hidden, post_norm=post_norm)
        return hidden
    residual += update + bias
    hidden = norm(residual)
    if post_norm:
        residual.copy_(hidden)
    return hidden.to(update.dtype)


def linear_add_norm(
    residual: Float[Tensor, "R D"],
    update: Float[Tensor, "R K"],
    layer: Linear,
    norm: Norm,
    block_counters: Int[Tensor, " M"],
    *,
    post_norm: bool,
) -> Float[Tensor, "R D"]:
    """Add an update through a linear layer, as in `add_norm`: in one launch for some rows.

    `block_counters` are zeros that belong to the residual stream.
    """
    if not _fused(update, layer):
        product = functional.linear(update, layer.weight)
        return add_norm(residual, product, layer.bias, norm, post_norm=post_norm)
    from dhyan.kernels.triton.decode import linear_add_norm as kernel

    hidden = torch.empty_like(residual, dtype=update.dtype)
    kernel.linear_add_norm(
        update,
        layer.weight,
        layer.bias,
        hidden,
        residual=residual,
        norm=norm.arguments,
        block_counters=block_counters,
        post_norm=post_norm,
    )
    return hidden


def linear(hidden: Float[Tensor, "R K"], layer: Linear) -> Float[Tensor, "R O"]:
    """A linear layer; its weights are prefetched for some rows."""
    if not _fused(hidden, layer) or len(layer.weight) > MAX_FUSED_INPUTS:
        return functional.linear(hidden, layer.weight, layer.bias)
    from dhyan.kernels.triton.decode import linear_add_norm as kernel

    output = hidden.new_empty(len(hidden), len(layer.weight))
    kernel.linear_add_norm(hidden, layer.weight, layer.bias, output)
    return output


def _fused(x: Float[Tensor, "R K"], layer: Linear) -> bool:
    few = len(x) <= MAX_FUSED_ROWS and x.shape[1] <= MAX_FUSED_INPUTS
    return few and use_triton(layer.weight)


def layer_norm(
    residual: Float[Tensor, "R D"], norm: Norm, *, like: Float[Tensor, "O D"]
) -> Float[Tensor, "R D"]:
    """The layer norm of the residual, in the precision of `like`."""
    if not use_triton(like):
        return norm(residual).to(like.dtype)
    from dhyan.kernels.triton.decode import rowwise

    hidden = torch.empty_like(residual, dtype=like.dtype)
    rowwise.add_norm(residual, None, None, norm.arguments, hidden, post_norm=False)
    return hidden


def norm_linear(
    residual: Float[Tensor, "R K"],
    layer: Linear,
    norm: Norm | None,
    row_sums: RowSums | None,
    *,
    activation: str = "none",
    single_precision: bool = False,
) -> Float[Tensor, "R O"]:
    """Layer norm, linear layer and activation for few rows, in one launch.

    With the row sums of the residual, weight and bias of the norm must be folded into the layer.
    """
    dtype = torch.float32 if single_precision else layer.weight.dtype
    if use_triton(layer.weight):
        from dhyan.kernels.triton.decode import small_batch_linear as kernels

        output = residual.new_empty(len(residual), len(layer.weight), dtype=dtype)
        if row_sums is None:
            arguments = norm.arguments if norm else None
            kernels.vector_linear(
                residual, layer.weight, layer.bias, arguments, None, output, activation=activation
            )
        else:
            assert norm is not None
            kernels.tile_linear(
                row_sums.copy,
                layer.weight,
                layer.bias,
                output,
                row_sums.sums,
                copy=None,
                tile=kernels.tile_for(len(output), output.shape[1], residual.shape[1]),
                weight_sums=layer.row_sums,
                epsilon=norm.epsilon,
                activation=activation,
            )
        return output
    hidden = (norm(residual) if norm else residual).to(layer.weight.dtype)
    product = functional.linear(hidden, layer.weight, layer.bias)
    return ACTIVATIONS[activation](product).to(dtype)


def linear_add(
    residual: Float[Tensor, "R O"],
    update: Float[Tensor, "R K"],
    layer: Linear,
    row_sums: RowSums | None,
    before: Norm | None = None,
) -> Float[Tensor, "R O"]:
    """Add an update through a linear layer, and recompute the row sums.

    The residual is changed in place, unless a norm applies to it `before` the sum.
    """
    if not use_triton(update):
        product = functional.linear(update, layer.weight, layer.bias)
        return before(residual) + product if before else residual.add_(product)
    from dhyan.kernels.triton.decode import small_batch_linear as kernels

    if row_sums is None:
        output = torch.empty_like(residual) if before else residual
        arguments = before.arguments if before else None
        kernels.vector_linear(update, layer.weight, layer.bias, arguments, residual, output)
        return output
    assert before is None
    tile = kernels.tile_for(len(residual), residual.shape[1], update.shape[1])
    sums, copy = row_sums.sums, row_sums.copy
    kernels.tile_linear(update, layer.weight, layer.bias, residual, sums, copy=copy, tile=tile)
    return residual
