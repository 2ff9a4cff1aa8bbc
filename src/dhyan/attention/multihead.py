"""Attention with many heads (Vaswani et al., 2017): self, masked and cross are one class."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention.multiplicative import DotScore
from dhyan.attention.protocol import Attended, Memory, Score, Sight, answer
from dhyan.attention.windows import everything


class MultiHeadAttention(nn.Module):
    """Several narrow attentions side by side, joined and projected; the same total width.

    Self-attention remembers the states that ask, cross-attention those of another sequence;
    masked self-attention is the first that `sees=the_past`.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        query_width: int | None = None,
        memory_width: int | None = None,
        score: Score | None = None,
        sees: Sight = everything,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width {width} does not divide into {heads} heads")
        self.heads = heads
        self.sees = sees
        self.score = score or DotScore(scaled=True)
        self.query = nn.Linear(query_width or width, width)
        self.key = nn.Linear(memory_width or width, width)
        self.value = nn.Linear(memory_width or width, width)
        self.output = nn.Linear(width, width)
        for part in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(part.weight)

    def remember(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        """Each head's keys and values."""
        keys = self.score.keys(self._split(self.key(states)))
        return Memory(keys, self._split(self.value(states)), mask)

    def forward(self, query: Float[Tensor, "B T Q"], memory: Memory) -> Attended:
        """Every head asks its own question; their answers are joined."""
        asked = self._split(self.query(query))
        context, weights = answer(asked, memory, self.score, self.sees)
        return Attended(self.output(context.transpose(1, 2).flatten(-2)), weights)

    def _split(self, states: Float[Tensor, "B N D"]) -> Float[Tensor, "B H N E"]:
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)
