"""Attention with many heads (Vaswani et al., 2017): self, masked and cross are one class."""

from dataclasses import replace
from typing import cast

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention.masks import everything
from dhyan.attention.multiplicative import DotScore
from dhyan.attention.protocol import Attended, Memory, Score, Sight, answer
from dhyan.kernels.backend import hurries
from dhyan.kernels.triton.packed_linear import joined_linear


class MultiHeadAttention(nn.Module):
    """Several narrow attentions side by side, joined and projected; the same total width.

    Self-attention remembers the states that ask, cross-attention those of another sequence;
    masked self-attention is the first that `sees=the_past`. With fewer `kv_heads` than heads,
    several heads ask one set of keys and values (Shazeer, 2019; Ainslie et al., 2023).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        query_width: int | None = None,
        memory_width: int | None = None,
        score: Score | None = None,
        sees: Sight = everything,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        groups = kv_heads or heads
        if width % heads:
            raise ValueError(f"width {width} does not divide into {heads} heads")
        if heads % groups:
            raise ValueError(f"{heads} heads cannot share {groups} key-value heads evenly")
        self.heads, self.groups = heads, groups
        self.sees = sees
        self.dropout = dropout
        self.score = score or DotScore(scaled=True)
        narrow = width // heads * groups
        self.query = nn.Linear(query_width or width, width)
        blind = getattr(self.score, "blind", False)
        self.key = None if blind else nn.Linear(memory_width or width, narrow)
        self.value = nn.Linear(memory_width or width, narrow)
        self.output = nn.Linear(width, width)
        for part in (self.query, self.key, self.value, self.output):
            if part is not None:
                nn.init.xavier_uniform_(part.weight)

    def remember(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        """The keys and values of each head, or of each group of heads."""
        if self.key is not None and hurries(self, states):
            known, values = joined_linear(states, [self.key, self.value])
            return self._memory(known, values, mask)
        values = self.value(states)
        return self._memory(values if self.key is None else self.key(states), values, mask)

    def forward(self, query: Float[Tensor, "B T Q"], memory: Memory) -> Attended:
        """Every head asks its own question; their answers are joined."""
        return self._answer(self._mapped(self.query, query), memory)

    def within(self, states: Float[Tensor, "B T D"], mask: Bool[Tensor, "B T"]) -> Attended | None:
        """The answer of a sequence that asks itself, by one product; None where that cannot be."""
        maps = [one for one in (self.query, self.key, self.value) if isinstance(one, nn.Linear)]
        if len(maps) < 3 or not hurries(self, states):
            return None
        asked, known, values = joined_linear(states, maps)
        return self._answer(asked, self._memory(known, values, mask))

    def _memory(
        self,
        known: Float[Tensor, "B S K"],
        values: Float[Tensor, "B S K"],
        mask: Bool[Tensor, "B S"],
    ) -> Memory:
        keys = self.score.keys(_split(known, self.groups))
        return Memory(keys, _split(values, self.groups), mask)

    def _answer(self, query: Float[Tensor, "B T W"], memory: Memory) -> Attended:
        asked, dropout = _split(query, self.heads), self.dropout if self.training else 0.0
        weights, after = None, memory.after(asked.shape[2])
        context = None if dropout else self._in_short(asked, memory)
        if context is None:
            context, weights, after = answer(
                asked, self._spread(memory), self.score, self.sees, dropout=dropout
            )
        joined = self._mapped(self.output, context.transpose(1, 2).flatten(-2))
        return Attended(joined, weights, replace(after, keys=memory.keys, values=memory.values))

    def _in_short(
        self, asked: Float[Tensor, "B H T E"], memory: Memory
    ) -> Float[Tensor, "B H T E"] | None:
        """By the kernel for short sentences, if score and sight are of the kinds it knows."""
        short, causal = getattr(self.score, "short", None), getattr(self.sees, "causal", None)
        if short is None or causal is None or not hurries(self, asked):
            return None
        return short(asked, memory, causal=causal)

    def _mapped(self, part: nn.Module, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T W"]:
        fast = isinstance(part, nn.Linear) and hurries(self, x)
        return joined_linear(x, [cast(nn.Linear, part)])[0] if fast else part(x)

    def _spread(self, memory: Memory) -> Memory:
        """The memory as every single head sees it."""
        times = self.heads // self.groups
        if times == 1:
            return memory
        keys, values = (part.repeat_interleave(times, 1) for part in (memory.keys, memory.values))
        return replace(memory, keys=keys, values=values)


def _split(states: Float[Tensor, "B N D"], heads: int) -> Float[Tensor, "B H N E"]:
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)
