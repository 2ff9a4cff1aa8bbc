"""What every attention is: it remembers states once, then answers queries about them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from dhyan.kernels.backend import may_fuse
from dhyan.kernels.reference import mix


@dataclass(frozen=True)
class Memory:
    """What attention looks at: keys to match, values to return, and which positions are real.

    `asked` counts the queries answered so far, and `given` is the weight each position got from
    them, kept for the scores that look back at it.
    """

    keys: Float[Tensor, "B G S K"]
    values: Float[Tensor, "B G S E"]
    mask: Bool[Tensor, "B S"]
    asked: int = 0
    given: Float[Tensor, "B H S"] | None = None

    def append(self, newer: "Memory") -> "Memory":
        """The same memory with later positions added: a key-value cache is nothing more."""
        given = self.given
        return replace(
            self,
            keys=torch.cat([self.keys, newer.keys], dim=2),
            values=torch.cat([self.values, newer.values], dim=2),
            mask=torch.cat([self.mask, newer.mask], dim=1),
            given=None if given is None else pad(given, (0, newer.mask.shape[1])),
        )

    def select(self, rows: Int[Tensor, " R"]) -> "Memory":
        """The memory of other rows: repeat, drop or reorder hypotheses."""
        return replace(
            self,
            keys=self.keys[rows],
            values=self.values[rows],
            mask=self.mask[rows],
            given=None if self.given is None else self.given[rows],
        )

    def after(self, queries: int, weights: Float[Tensor, "B H T S"] | None = None) -> "Memory":
        """The memory once it has answered so many queries, with these weights if they are kept."""
        given = self.given
        if weights is not None:
            given = weights.sum(dim=2) + (0.0 if given is None else given)
        return replace(self, asked=self.asked + queries, given=given)


class Attended(NamedTuple):
    """The answer to a query; the weights are absent when a fused kernel never made them.

    `memory` is what to ask the next time.
    """

    context: Float[Tensor, "B T C"]
    weights: Float[Tensor, "B H T S"] | None
    memory: Memory


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

    A score may also offer `fused`, a kernel that goes from query to context in one call, and
    `fuses`, which says whether it can take these; without it, it always can. One that `looks_back`
    at the weights given before is asked one query at a time; one that is `blind` to the states has
    no keys.
    """

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S K"]:
        """What of the states is matched against; computed once per memory."""
        ...

    def __call__(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """Match every query with every key."""
        ...


Seen = Bool[Tensor, "#B #H T S"] | Float[Tensor, "#B #H T S"]
"""Whether a query may see a position; or how clearly, from 0 to 1."""

Sight = Callable[[Float[Tensor, "B H T Q"], Memory], Seen]
"""Which positions of a memory each query may see.

One that hides only padding and, if so, the future says which by an attribute `causal`.
"""

Found = tuple[Float[Tensor, "B H T E"], Float[Tensor, "B H T S"] | None, Memory]
"""Each head's context, its weights if they were made, and the memory to ask next."""


def answer(
    asked: Float[Tensor, "B H T Q"],
    memory: Memory,
    score: Score,
    sees: Sight,
    *,
    dropout: float = 0.0,
    fuse: bool = True,
) -> Found:
    """What every head finds: match, hide what may not be seen, weigh, mix."""
    seen, weights = sees(asked, memory), None
    if getattr(score, "looks_back", False):
        return _in_turn(asked, memory, score, seen, dropout=dropout)
    fused = _kernel(score, asked, memory, dropout=dropout) if fuse else None
    if fused is not None and seen.dtype == torch.bool:
        context = fused(asked, memory, seen, dropout=dropout)
    else:
        context, weights = mix(score(asked, memory), memory.values, seen, dropout=dropout)
    return context, weights, memory.after(asked.shape[2])


def _kernel(
    score: Score, asked: Float[Tensor, "B H T Q"], memory: Memory, *, dropout: float
) -> Callable[..., Float[Tensor, "B H T E"]] | None:
    """The fused kernel of a score, where it has one that can stand in for the definition."""
    fuses = getattr(score, "fuses", None)
    if not may_fuse() or (fuses is not None and not fuses(asked, memory, dropout=dropout)):
        return None
    return getattr(score, "fused", None)


def _in_turn(
    asked: Float[Tensor, "B H T Q"], memory: Memory, score: Score, seen: Seen, *, dropout: float
) -> Found:
    """One query after the other, each knowing what those before it looked at."""
    contexts, rows = [], []
    for query, sight in zip(asked.split(1, dim=2), seen.split(1, dim=2), strict=True):
        context, weights = mix(score(query, memory), memory.values, sight, dropout=dropout)
        memory = memory.after(1, weights)
        contexts.append(context)
        rows.append(weights)
    return torch.cat(contexts, dim=2), torch.cat(rows, dim=2), memory
