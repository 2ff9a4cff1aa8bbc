"""Attention with many heads (Vaswani et al., 2017): self, masked and cross are one class."""

from dataclasses import replace

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention.multiplicative import DotScore
from dhyan.attention.protocol import Attended, Memory, Score, Sight, answer
from dhyan.attention.windows import everything


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
        values = _split(self.value(states), self.groups)
        known = values if self.key is None else _split(self.key(states), self.groups)
        return Memory(self.score.keys(known), values, mask)

    def forward(self, query: Float[Tensor, "B T Q"], memory: Memory) -> Attended:
        """Every head asks its own question; their answers are joined."""
        asked = _split(self.query(query), self.heads)
        dropout = self.dropout if self.training else 0.0
        context, weights, after = answer(
            asked, self._spread(memory), self.score, self.sees, dropout=dropout
        )
        joined = self.output(context.transpose(1, 2).flatten(-2))
        return Attended(joined, weights, replace(after, keys=memory.keys, values=memory.values))

    def _spread(self, memory: Memory) -> Memory:
        """The memory as every single head sees it."""
        times = self.heads // self.groups
        if times == 1:
            return memory
        keys, values = (part.repeat_interleave(times, 1) for part in (memory.keys, memory.values))
        return replace(memory, keys=keys, values=values)


def _split(states: Float[Tensor, "B N D"], heads: int) -> Float[Tensor, "B H N E"]:
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)
