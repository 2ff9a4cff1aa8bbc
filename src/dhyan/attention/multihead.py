"""Multi-head attention (Vaswani et al., 2017): self-, masked and cross-attention in one class."""

from collections.abc import Sequence

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention.masks import all_positions
from dhyan.attention.multiplicative import DotScore
from dhyan.attention.protocol import Attended, Attention, Mask, Memory, Score
from dhyan.kernels.ops import linear, packed_linear


class MultiHeadAttention(nn.Module, Attention):
    """Several narrow attentions side by side, concatenated and projected; the same total width.

    Section 3.2.2 of Vaswani et al. (2017). Self-attention takes keys and values from the states
    that are its queries, cross-attention from those of another sequence. Masked self-attention has
    `mask=causal`; by default every query attends to all real positions. With fewer
    `kv_heads` than heads, several heads share keys and values (Shazeer, 2019; Ainslie et al., 2023).
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
        mask: Mask = all_positions,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        groups = kv_heads or heads
        if width % heads:
            raise ValueError(f"width {width} does not divide into {heads} heads")
        if heads % groups:
            raise ValueError(f"{heads} heads cannot share {groups} key-value heads evenly")
        self.heads, self.kv_heads = heads, groups
        self.mask = mask
        self.dropout = dropout
        self.score = score or DotScore(scaled=True)
        kv_width = width // heads * groups
        self.query = nn.Linear(query_width or width, width)
        self.key = nn.Linear(memory_width or width, kv_width) if self.score.uses_keys else None
        self.value = nn.Linear(memory_width or width, kv_width)
        self.output = nn.Linear(width, width)
        for layer in (self.query, self.key, self.value, self.output):
            if layer is not None:
                nn.init.xavier_uniform_(layer.weight)

    def remember(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        """The keys and values of each head, or of each group of heads."""
        layers = [self.value] if self.key is None else [self.key, self.value]
        return self._memory(packed_linear(states, layers), mask)

    def context_width(self, memory_width: int) -> int:
        """The width of the output projection."""
        return self.output.out_features

    def forward(
        self,
        query: Float[Tensor, "B T Q"],
        memory: Memory,
        *,
        projected: Float[Tensor, "B T W"] | None = None,
    ) -> Attended:
        """The heads' contexts, concatenated and projected.

        `projected` is the query by its own projection, if that is known already.
        """
        if projected is None:
            projected = linear(query, self.query)
        context, weights, memory = self.score.attend(
            _split_heads(projected, self.heads),
            memory,
            self.mask,
            dropout=self.dropout if self.training else 0.0,
        )
        output = linear(context.transpose(1, 2).flatten(-2), self.output)
        return Attended(output, weights, memory)

    def self_attend(
        self,
        states: Float[Tensor, "B T D"],
        mask: Bool[Tensor, "B T"],
        past: Memory | None = None,
    ) -> Attended:
        """Self-attention, with query, keys and values by one product in training."""
        layers = (
            [self.query, self.value] if self.key is None else [self.query, self.key, self.value]
        )
        projected, *keys_and_values = packed_linear(states, layers)
        memory = self._memory(keys_and_values, mask)
        memory = memory if past is None else past.append(memory)
        return self(states, memory, projected=projected)

    def _memory(
        self, keys_and_values: Sequence[Float[Tensor, "B S K"]], mask: Bool[Tensor, "B S"]
    ) -> Memory:
        """The memory per head; a score that uses no keys gets the values in their place."""
        keys, values = (
            _split_heads(part, self.kv_heads) for part in (keys_and_values[0], keys_and_values[-1])
        )
        return Memory(self.score.keys(keys), values, mask)


def _split_heads(states: Float[Tensor, "B N D"], heads: int) -> Float[Tensor, "B H N E"]:
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)
