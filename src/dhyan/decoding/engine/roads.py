"""The main road of a Transformer through its steps: by large products, or by few fused launches."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from dhyan.decoding.engine.weights import Stack
from dhyan.kernels.decode import Linear, Norm, Told, embed, join, normalised, off_road, on_road


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
    post: bool

    @classmethod
    def start(cls, stack: Stack, words: Int[Tensor, " R"], places: Int[Tensor, " N"]) -> "WideRoad":
        """At the first step."""
        width = stack.table.shape[1]
        road, entering = embed(
            words, places, stack.table, stack.positions, stack.first, scale=width**0.5
        )
        return cls(road, entering, stack.post)

    def enter(self, way: Linear, bend: str = "none") -> Float[Tensor, "R O"]:
        """The normalised road through a product."""
        if bend == "relu" and self.entering.is_cuda:
            return torch._addmm_activation(way.bias, self.entering, way.weight.t())
        return bent(functional.linear(self.entering, way.weight, way.bias), bend)

    def leave(self, found: Float[Tensor, "R K"], way: Linear, norm: Norm) -> None:
        """The bias joins with the rest."""
        found = functional.linear(found, way.weight)
        self.entering = join(self.road, found, way.bias, norm, post=self.post)

    def say(self, words: Linear) -> Float[Tensor, "R V"]:
        """In the precision of the weights."""
        return functional.linear(self.entering, words.weight, words.bias)


@dataclass
class ThinRoad:
    """For few rows: each product with the norm before it and the sum after it in one launch."""

    road: Float[Tensor, "R D"]
    norm: Norm
    told: Told | None

    @classmethod
    def start(cls, stack: Stack, words: Int[Tensor, " R"], places: Int[Tensor, " N"]) -> "ThinRoad":
        """At the first step, whose norm is still to come."""
        assert stack.first is not None
        told, scale = Told.of(len(words), stack.table), stack.table.shape[1] ** 0.5
        road, _ = embed(words, places, stack.table, stack.positions, None, scale=scale, told=told)
        return cls(road, stack.first, told)

    def enter(self, way: Linear, bend: str = "none") -> Float[Tensor, "R O"]:
        """Norm, product and bend at once."""
        at_once = bend if bend in ("relu", "gelu") else "none"
        found = off_road(self.road, way, self.norm, self.told, bend=at_once)
        return found if at_once == bend else bent(found, bend)

    def leave(self, found: Float[Tensor, "R K"], way: Linear, norm: Norm) -> None:
        """The norm waits for the next product."""
        on_road(self.road, found, way, self.told)
        self.norm = norm

    def say(self, words: Linear) -> Float[Tensor, "R V"]:
        """In single precision where that is one launch."""
        if self.told is None:
            return off_road(self.road, words, self.norm, None, exact=True)
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
