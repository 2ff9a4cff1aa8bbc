"""Protocols `Score`, `Mask` and `Attention`, and the `Memory` of projected keys and values.

Letters of the shapes: B rows of a batch (sentences, or the hypotheses of a search), T queries,
S positions of the memory, H heads, G groups of heads that share keys and values (H of them, or
fewer), D width of the states, Q width of a query, K width of a key, E width of a head, A width of
the additive score's hidden layer, C width of a context, R rows that are selected. In the recurrent
models P is the number of parts of a state (an LSTM's h and c, or h alone), L that of layers.
A position is real if it is no padding.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from dhyan.kernels.ops import AttentionOperands, attend


@dataclass(frozen=True)
class Memory:
    """Projected keys and values, with the padding mask: encoder states or a key-value cache.

    `steps` counts the queries that have attended to it; `coverage` is the sum of their weights on
    each position, and `last_weights` are those of the last query, for the scores that use them.
    """

    keys: Float[Tensor, "B G S K"]
    values: Float[Tensor, "B G S E"]
    mask: Bool[Tensor, "B S"]
    steps: int | Int[Tensor, ""] = 0
    coverage: Float[Tensor, "B H S"] | None = None
    last_weights: Float[Tensor, "B H S"] | None = None

    def append(self, newer: "Memory") -> "Memory":
        """The memory with later positions added: the growth of a key-value cache."""
        if not self.mask.shape[1] and self.coverage is None:
            return replace(newer, steps=self.steps)
        added = (0, newer.mask.shape[1])
        return replace(
            self,
            keys=torch.cat([self.keys, newer.keys], dim=2),
            values=torch.cat([self.values, newer.values], dim=2),
            mask=torch.cat([self.mask, newer.mask], dim=1),
            coverage=None if self.coverage is None else pad(self.coverage, added),
            last_weights=None if self.last_weights is None else pad(self.last_weights, added),
        )

    def select(self, rows: Int[Tensor, " R"]) -> "Memory":
        """The memory of other rows: repeat, drop or reorder hypotheses."""
        return replace(
            self,
            keys=self.keys[rows],
            values=self.values[rows],
            mask=self.mask[rows],
            coverage=None if self.coverage is None else self.coverage[rows],
            last_weights=None if self.last_weights is None else self.last_weights[rows],
        )

    def advance(self, queries: int, weights: Float[Tensor, "B H T S"] | None = None) -> "Memory":
        """The memory after so many queries; their weights, if given, are added to the coverage."""
        memory = replace(self, steps=self.steps + queries)
        if weights is None:
            return memory
        coverage = weights.sum(dim=2) + (0.0 if self.coverage is None else self.coverage)
        return replace(memory, coverage=coverage, last_weights=weights[:, :, -1])

    def per_head(self, heads: int) -> "Memory":
        """Keys and values repeated for the heads that share them."""
        repeats = heads // self.values.shape[1]
        if repeats == 1:
            return self
        keys, values = (part.repeat_interleave(repeats, 1) for part in (self.keys, self.values))
        return replace(self, keys=keys, values=values)


class Attended(NamedTuple):
    """The context of every query, and the memory for the next one.

    The weights are absent when a fused kernel never stored them.
    """

    context: Float[Tensor, "B T C"]
    weights: Float[Tensor, "B H T S"] | None
    memory: Memory


class HeadsAttended(NamedTuple):
    """The same for every head."""

    context: Float[Tensor, "B H T E"]
    weights: Float[Tensor, "B H T S"] | None
    memory: Memory


@runtime_checkable
class Attention(Protocol):
    """Bottleneck, additive, dot, general, multi-head: every attention mechanism.

    A class inherits from `nn.Module` and from this one, for the methods that have a default.
    """

    def remember(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        """Project the states to keys and values, once for all queries that follow."""
        ...

    def __call__(self, query: Float[Tensor, "B T Q"], memory: Memory) -> Attended:
        """The context of every query."""
        ...

    def self_attend(
        self,
        states: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"],
        past: Memory | None = None,
    ) -> Attended:
        """Self-attention: the states attend to themselves, and to the positions before them."""
        memory = self.remember(states, mask)
        return self(states, memory if past is None else past.append(memory))

    def context_width(self, memory_width: int) -> int | None:
        """The width of the context over states of this width; None if only a call tells."""
        return None

    def operands(self, memory: Memory) -> AttentionOperands | None:
        """The tensors of one attention step, for the fused kernels of the recurrent decoders.

        None if no kernel computes this mechanism.
        """
        return None


@runtime_checkable
class Mask(Protocol):
    """Which positions of a memory each query may attend to.

    `causal` tells fused kernels which masks they can compute themselves: False if only padding is
    masked, True if later positions are masked too, and None for every other mask.
    """

    @property
    def causal(self) -> bool | None: ...  # noqa: D102

    def __call__(
        self, query: Float[Tensor, "B H T Q"], memory: Memory
    ) -> Bool[Tensor, "#B #H T S"] | Float[Tensor, "#B #H T S"]:
        """True where a query may attend; a soft window returns a factor from 0 to 1 per weight."""
        ...


@runtime_checkable
class Score(Protocol):
    """How well a key matches a query: the part in which the mechanisms differ.

    A class inherits from `nn.Module` and from this one, for what has a default. Without
    `uses_keys`, the score ignores the states, and heads project no keys for it.
    """

    uses_keys: bool = True

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S K"]:
        """What of the states is matched against; computed once per memory."""
        ...

    def __call__(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """The score of every query with every key."""
        ...

    def attend(
        self,
        query: Float[Tensor, "B H T Q"],
        memory: Memory,
        mask: Mask,
        *,
        dropout: float = 0.0,
        need_weights: bool = False,
    ) -> HeadsAttended:
        """Scores, masked softmax, weighted average of the values.

        A score with a fused kernel calls it here; `need_weights` asks for the weights anyway.
        """
        heads = memory.per_head(query.shape[1])
        scores = self(query, heads)
        context, weights = attend(scores, heads.values, mask(query, memory), dropout=dropout)
        return HeadsAttended(context, weights, memory.advance(query.shape[2]))

    def operands(self, memory: Memory) -> AttentionOperands | None:
        """The tensors of one step of single-head attention, for the fused recurrent kernels.

        None if no kernel computes this score.
        """
        return None
