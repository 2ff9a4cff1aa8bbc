"""What every attention is: it remembers states once, then answers queries about them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dhyan.kernels.backend import look_up


@dataclass(frozen=True)
class Memory:
    """What attention looks at: keys to match, values to return, and which positions are real."""

    keys: Float[Tensor, "B H S K"]
    values: Float[Tensor, "B H S E"]
    mask: Bool[Tensor, "B S"]

    def append(self, newer: "Memory") -> "Memory":
        """The same memory with later positions added: a key-value cache is nothing more."""
        return Memory(
            torch.cat([self.keys, newer.keys], dim=2),
            torch.cat([self.values, newer.values], dim=2),
            torch.cat([self.mask, newer.mask], dim=1),
        )

    def select(self, rows: Int[Tensor, " R"]) -> "Memory":
        """The memory of other rows: repeat, drop or reorder hypotheses."""
        return Memory(self.keys[rows], self.values[rows], self.mask[rows])


class Attended(NamedTuple):
    """The answer to a query; the weights are absent when a fused kernel never made them."""

    context: Float[Tensor, "*B T C"]
    weights: Float[Tensor, "*H T S"] | None


@runtime_checkable
class Attention(Protocol):
    """Bottleneck, additive, dot, general, multi-head: all of them plug in here."""

    def remember(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        """Project the states once, however many queries will follow."""
        ...

    def __call__(self, query: Float[Tensor, "B T Q"], memory: Memory) -> Attended:
        """Look the queries up in the memory."""
        ...


@runtime_checkable
class Score(Protocol):
    """How well a key answers a query: the part in which the mechanisms differ.

    A score may also offer `fused`, a kernel that goes from query to context in one call.
    """

    def keys(self, states: Float[Tensor, "B H S D"]) -> Float[Tensor, "B H S K"]:
        """What of the states is matched against; computed once per memory."""
        ...

    def __call__(
        self, query: Float[Tensor, "B H T Q"], keys: Float[Tensor, "B H S K"]
    ) -> Float[Tensor, "B H T S"]:
        """Match every query with every key."""
        ...


Sight = Callable[[Float[Tensor, "B H T Q"], Memory], Bool[Tensor, "B 1 T S"]]
"""Which positions of a memory each query may see."""


def answer(
    asked: Float[Tensor, "B H T Q"], memory: Memory, score: Score, sees: Sight
) -> tuple[Float[Tensor, "B H T E"], Float[Tensor, "B H T S"] | None]:
    """What every head finds: match, hide what may not be seen, weigh, mix."""
    return look_up(
        asked,
        memory.keys,
        memory.values,
        sees(asked, memory),
        scores=score,
        fused=getattr(score, "fused", None),
    )
