"""Residual stream of Transformer layers in the decoding engine; fused kernels for small batches."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from dhyan.decoding.engine.packed_weights import Stack
from dhyan.kernels.decode.residual_stream import (
    MAX_VECTOR_ROWS,
    Linear,
    Norm,
    RowSums,
    embed,
    layer_norm,
    linear,
    linear_add,
    linear_add_norm,
    norm_linear,
)

MAX_SMALL_BATCH = 32  # rows, up to which reading the weights takes the time of a product


@runtime_checkable
class ResidualStream(Protocol):
    """A vector for every row; sub-layers read its norm and add their outputs to it."""

    def project(self, layer: Linear, activation: str = "none") -> Float[Tensor, "R O"]:
        """The normalised residual through a linear layer: the input of a sub-layer."""
        ...

    def add(self, update: Float[Tensor, "R K"], layer: Linear, norm: Norm) -> None:
        """Add the output of a sub-layer through a linear layer; `norm` is the next layer norm."""
        ...

    def logits(self, output: Linear) -> Float[Tensor, "R V"]:
        """The normalised residual through the output layer."""
        ...


@dataclass
class LargeBatchStream:
    """For many rows: large products, and one launch that adds and normalises."""

    residual: Float[Tensor, "R D"]
    hidden: Float[Tensor, "R D"]
    block_counters: Int[Tensor, " M"]
    post_norm: bool

    @classmethod
    def start(
        cls, stack: Stack, tokens: Int[Tensor, " R"], positions: Int[Tensor, " N"]
    ) -> "LargeBatchStream":
        """Embed the tokens."""
        residual, hidden = embed(
            tokens,
            positions,
            stack.embedding,
            stack.position_vectors,
            stack.first_norm,
            scale=stack.embedding_scale,
        )
        return cls(residual, hidden, stack.block_counters, stack.post_norm)

    def project(self, layer: Linear, activation: str = "none") -> Float[Tensor, "R O"]:
        """A product with bias and activation."""
        if activation == "relu" and self.hidden.is_cuda:
            return torch._addmm_activation(layer.bias, self.hidden, layer.weight.t())
        return activate(linear(self.hidden, layer), activation)

    def add(self, update: Float[Tensor, "R K"], layer: Linear, norm: Norm) -> None:
        """Product, sum and norm in as few launches as possible."""
        self.hidden = linear_add_norm(
            self.residual, update, layer, norm, self.block_counters, post_norm=self.post_norm
        )

    def logits(self, output: Linear) -> Float[Tensor, "R V"]:
        """In the precision of the weights."""
        return functional.linear(self.hidden, output.weight, output.bias)


@dataclass
class SmallBatchStream:
    """For few rows: each product with the norm before it and the sum after it in one launch.

    `norm` is still to be applied; with post-norm it applies to the residual itself.
    """

    residual: Float[Tensor, "R D"]
    norm: Norm | None
    row_sums: RowSums | None
    post_norm: bool

    @staticmethod
    def supports(stack: Stack, rows: int) -> bool:
        """Whether so few rows take no longer than reading the weights."""
        return rows <= (MAX_VECTOR_ROWS if stack.post_norm else MAX_SMALL_BATCH)

    @classmethod
    def start(
        cls, stack: Stack, tokens: Int[Tensor, " R"], positions: Int[Tensor, " N"]
    ) -> "SmallBatchStream":
        """Embed the tokens; the first norm, if there is one, is still to be applied."""
        row_sums = RowSums.empty(len(tokens), stack.embedding)
        residual, _ = embed(
            tokens,
            positions,
            stack.embedding,
            stack.position_vectors,
            None,
            scale=stack.embedding_scale,
            row_sums=row_sums,
        )
        return cls(residual, stack.first_norm, row_sums, stack.post_norm)

    def project(self, layer: Linear, activation: str = "none") -> Float[Tensor, "R O"]:
        """Norm, product and activation in one launch."""
        fused = activation if activation in ("relu", "gelu") else "none"
        output = norm_linear(self.residual, layer, self.norm, self.row_sums, activation=fused)
        return output if fused == activation else activate(output, activation)

    def add(self, update: Float[Tensor, "R K"], layer: Linear, norm: Norm) -> None:
        """The norm is applied by the next product."""
        before = self.norm if self.post_norm else None
        self.residual = linear_add(self.residual, update, layer, self.row_sums, before)
        self.norm = norm

    def logits(self, output: Linear) -> Float[Tensor, "R V"]:
        """In single precision where that is one launch."""
        if self.row_sums is None:
            return norm_linear(self.residual, output, self.norm, None, single_precision=True)
        assert self.norm is not None
        hidden = layer_norm(self.residual, self.norm, like=output.weight)
        return functional.linear(hidden, output.weight, output.bias)


def activate(x: Float[Tensor, "R O"], activation: str) -> Float[Tensor, "R O"]:
    """An activation; swiglu multiplies SiLU of the first half with the second (Shazeer, 2020)."""
    match activation:
        case "relu":
            return torch.relu(x)
        case "gelu":
            return functional.gelu(x)
        case "silu":
            return functional.silu(x)
        case "swiglu":
            gate, up = x.chunk(2, dim=-1)
            return functional.silu(gate) * up
    return x
