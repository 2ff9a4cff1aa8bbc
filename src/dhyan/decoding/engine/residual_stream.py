"""The main road of a Transformer through its steps: by large products, or by few fused launches."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from dhyan.decoding.engine.packed_weights import Stack
from dhyan.kernels.triton.decode.residual_stream import (
    VECTORS,
    Linear,
    Norm,
    Told,
    arrive,
    depart,
    embed,
    normalised,
    off_road,
    on_road,
)

THIN = 32  # rows, up to which a product is a matter of reading its weights


@runtime_checkable
class Road(Protocol):
    """A vector for every row, which steps are led off from and join again."""

    def enter(self, way: Linear, bend: str = "none") -> Float[Tensor, "R O"]:
        """What a step is given."""
        ...

    def leave(self, found: Float[Tensor, "R K"], way: Linear, norm: Norm) -> None:
        """Let what a step found join; the norm is the one that follows."""
        ...

    def say(self, words: Linear) -> Float[Tensor, "R V"]:
        """A score for every word, at the end."""
        ...


@dataclass
class WideRoad:
    """For many rows: products as large as they are, and one launch that joins and normalises."""

    road: Float[Tensor, "R D"]
    entering: Float[Tensor, "R D"]
    arrivals: Int[Tensor, " M"]
    post: bool

    @classmethod
    def start(cls, stack: Stack, words: Int[Tensor, " R"], places: Int[Tensor, " N"]) -> "WideRoad":
        """At the first step."""
        width = stack.table.shape[1]
        road, entering = embed(
            words, places, stack.table, stack.positions, stack.first, scale=width**0.5
        )
        return cls(road, entering, stack.arrivals, stack.post)

    def enter(self, way: Linear, bend: str = "none") -> Float[Tensor, "R O"]:
        """The normalised road through a product."""
        if bend == "relu" and self.entering.is_cuda:
            return torch._addmm_activation(way.bias, self.entering, way.weight.t())
        return bent(depart(self.entering, way), bend)

    def leave(self, found: Float[Tensor, "R K"], way: Linear, norm: Norm) -> None:
        """Product, sum and norm in as few launches as may be."""
        self.entering = arrive(self.road, found, way, norm, self.arrivals, post=self.post)

    def say(self, words: Linear) -> Float[Tensor, "R V"]:
        """In the precision of the weights."""
        return functional.linear(self.entering, words.weight, words.bias)


@dataclass
class ThinRoad:
    """For few rows: each product with the norm before it and the sum after it in one launch.

    The norm is still to come; where norms stand after the steps, so is that of the road itself.
    """

    road: Float[Tensor, "R D"]
    norm: Norm | None
    told: Told | None
    post: bool

    @staticmethod
    def takes(stack: Stack, rows: int) -> bool:
        """Whether so few rows are a matter of reading the weights."""
        return rows <= (VECTORS if stack.post else THIN)

    @classmethod
    def start(cls, stack: Stack, words: Int[Tensor, " R"], places: Int[Tensor, " N"]) -> "ThinRoad":
        """At the first step, whose norm, if there is one, is still to come."""
        told, scale = Told.of(len(words), stack.table), stack.table.shape[1] ** 0.5
        road, _ = embed(words, places, stack.table, stack.positions, None, scale=scale, told=told)
        return cls(road, stack.first, told, stack.post)

    def enter(self, way: Linear, bend: str = "none") -> Float[Tensor, "R O"]:
        """Norm, product and bend at once."""
        at_once = bend if bend in ("relu", "gelu") else "none"
        found = off_road(self.road, way, self.norm, self.told, bend=at_once)
        return found if at_once == bend else bent(found, bend)

    def leave(self, found: Float[Tensor, "R K"], way: Linear, norm: Norm) -> None:
        """The norm waits for the next product."""
        before = self.norm if self.post else None
        self.road, self.norm = on_road(self.road, found, way, self.told, before), norm

    def say(self, words: Linear) -> Float[Tensor, "R V"]:
        """In single precision where that is one launch."""
        if self.told is None:
            return off_road(self.road, words, self.norm, None, exact=True)
        assert self.norm is not None
        entering = normalised(self.road, self.norm, like=words.weight)
        return functional.linear(entering, words.weight, words.bias)


def bent(x: Float[Tensor, "R O"], bend: str) -> Float[Tensor, "R O"]:
    """An activation; swiglu bends the first half and multiplies it with the second."""
    match bend:
        case "relu":
            return torch.relu(x)
        case "gelu":
            return functional.gelu(x)
        case "swiglu":
            gate, wide = x.chunk(2, dim=-1)
            return functional.silu(gate) * wide
    return x
