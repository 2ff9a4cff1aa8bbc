"""A decoder that may also say a word of the source as it stands (See, Liu and Manning, 2017)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.attention import Attention, Memory
from dhyan.kernels.reference import exact
from dhyan.models.embedding import Words
from dhyan.models.interface import AttentionLayer, Encoded, State

TINY = 1e-9


@runtime_checkable
class Thinking(Protocol):
    """A decoder whose last layer can be taken apart: vectors first, then words."""

    @property
    def longest(self) -> int | None: ...  # noqa: D102
    @property
    def words(self) -> Words: ...  # noqa: D102
    @property
    def width(self) -> int: ...  # noqa: D102
    @property
    def output(self) -> nn.Linear: ...  # noqa: D102

    def start(self, encoded: Encoded) -> State:
        """Ready to say the first word."""
        ...

    def think(self, ids: Int[Tensor, "B T"], state: Any) -> tuple[Float[Tensor, "B T D"], State]:
        """The vector from which each next word is read."""
        ...

    def __call__(self, ids: Int[Tensor, "B T"], state: Any) -> tuple[Float[Tensor, "B T V"], State]:
        """The logits of the word after each id."""
        ...

    def attentions(self) -> Sequence[AttentionLayer]:
        """Every attention of the decoder, in the order they are called."""
        ...


@dataclass(frozen=True)
class CopyingState:
    """Where the decoder stands, and the words of the source that it may point at."""

    inner: State
    memory: Memory
    ids: Int[Tensor, "B S"]

    def select(self, rows: Int[Tensor, " R"]) -> "CopyingState":
        """The state of other rows."""
        return CopyingState(self.inner.select(rows), self.memory.select(rows), self.ids[rows])


class CopyingDecoder(nn.Module):
    """P(w) = g · P_vocabulary(w) + (1 − g) · Σ_{j: x_j = w} α_j, with g = σ(W [v; c]).

    v is the vector the decoder reads its word from, α an attention of v to the source, and c its
    context. Source and target must have one vocabulary, and a word it lacks stays unknown: the
    paper's extended vocabulary is what pieces and bytes are for. The scores returned are log P.
    """

    def __init__(self, decoder: Thinking, copy_attention: Attention, context_width: int) -> None:
        super().__init__()
        self.decoder = decoder
        self.copy_attention = copy_attention
        self.gate = nn.Linear(decoder.width + context_width, 1)

    @property
    def longest(self) -> int | None:
        """The most tokens it takes, if any."""
        return self.decoder.longest

    @property
    def words(self) -> Words:
        """The table of its vocabulary."""
        return self.decoder.words

    def attentions(self) -> list[AttentionLayer]:
        """Those of the decoder, then the copy attention, which counts as one layer more."""
        inner = [layer.within("decoder") for layer in self.decoder.attentions()]
        last = max((layer.layer for layer in inner), default=0)
        return [*inner, AttentionLayer("copy_attention", "cross", last + 1, self.copy_attention)]

    def start(self, encoded: Encoded) -> CopyingState:
        """The source is remembered once more, to be pointed at."""
        memory = self.copy_attention.remember(encoded.states, encoded.mask)
        return CopyingState(self.decoder.start(encoded), memory, encoded.source.ids)

    def forward(
        self, ids: Int[Tensor, "B T"], state: CopyingState
    ) -> tuple[Float[Tensor, "B T V"], CopyingState]:
        """The log-probability of the word after each id, said or copied."""
        vectors, inner = self.decoder.think(ids, state.inner)
        context, weights, memory = self.copy_attention(vectors, state.memory)
        if weights is None:
            raise ValueError("copying needs an attention that shows its weights")
        said = exact(self.decoder.output(vectors)).softmax(dim=-1)
        gate = torch.sigmoid(exact(self.gate(torch.cat([vectors, context], dim=-1))))
        pointed = weights.mean(dim=1).to(said.dtype)
        places = state.ids.unsqueeze(1).expand_as(pointed)
        copied = torch.zeros_like(said).scatter_add(2, places, pointed)
        chances = gate * said + (1 - gate) * copied
        return torch.log(chances + TINY), CopyingState(inner, memory, state.ids)
