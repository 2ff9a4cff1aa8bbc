"""The Transformer: attention and nothing else (Vaswani et al., 2017)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dhyan.attention import Attended, Attention, Memory, the_last
from dhyan.batch import Tokens
from dhyan.kernels.backend import hurries
from dhyan.models.embedding import output_layer
from dhyan.models.interface import AttentionLayer, Encoded
from dhyan.models.positions import Positions
from dhyan.models.residual import Residual as Residual
from dhyan.models.residual import normed
from dhyan.special_tokens import PAD


class Embedding(nn.Module):
    """What each token is and where it stands."""

    def __init__(self, words: nn.Embedding, positions: Positions, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = words
        self.positions = positions
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Int[Tensor, "B T"], first: int = 0) -> Float[Tensor, "B T D"]:
        """Embeddings scaled up to the size of the positions added to them."""
        scale, places = self.words.embedding_dim**0.5, self.positions(first, ids.shape[1])
        if hurries(self, self.words.weight) and not places.requires_grad:
            return self._at_once(ids, places, scale)
        words = self.words(ids) * scale
        return self.dropout(words + places.to(words.dtype))

    def _at_once(
        self, ids: Int[Tensor, "B T"], places: Float[Tensor, "T D"], scale: float
    ) -> Float[Tensor, "B T D"]:
        from dhyan.kernels.triton.embedding import embedded

        table, dropout = self.words.weight, self.dropout.p
        return embedded(ids, table, places, scale=scale, dropout=dropout, padding=PAD)


class EncoderLayer(nn.Module):
    """Look at the whole sentence, if there is anything to look with; then think about each word."""

    def __init__(
        self,
        width: int,
        self_attention: Attention | None,
        feed_forward: nn.Module,
        *,
        pre_norm: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        looking, self.thinking = (
            Residual(width, pre_norm=pre_norm, dropout=dropout) for _ in range(2)
        )
        self.looking = None if self_attention is None else looking

    def forward(self, x: Float[Tensor, "B S D"], source: Tokens) -> Float[Tensor, "B S D"]:
        """Every position asks, every real position answers."""
        if self.self_attention is None or self.looking is None:
            x, asked = self.thinking.fork(x)
        else:
            x, asked = self.looking.fork(x)
            found = look_within(self.self_attention, asked, source.mask).context
            x, asked = self.looking.go_on(x, found, self.thinking)
        return self.thinking.leave(x, self.feed_forward(asked))


class TransformerEncoder(nn.Module):
    """A stack of layers over embedded tokens; the summary is the mean of its states."""

    def __init__(
        self, width: int, embed: Embedding, layers: Sequence[EncoderLayer], *, pre_norm: bool = True
    ) -> None:
        super().__init__()
        self.width = width
        self.summary_shape = (1, 1, width)
        self.longest = embed.positions.longest
        self.last = the_last
        self.embed = embed
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(width) if pre_norm else nn.Identity()

    @property
    def words(self) -> nn.Embedding:
        """The table of its vocabulary."""
        return self.embed.words

    def attentions(self) -> list[AttentionLayer]:
        """The self-attention of each layer that has one."""
        layers = cast(Iterable[EncoderLayer], self.layers)
        return [
            AttentionLayer(f"layers.{at}.self_attention", "encoder_self", at + 1, attention)
            for at, attention in enumerate(layer.self_attention for layer in layers)
            if attention is not None
        ]

    def forward(self, source: Tokens) -> Encoded:
        """All positions at once."""
        x = self.embed(source.ids)
        for layer in self.layers:
            x = layer(x, source)
        states = normed(self.norm, x)
        real = source.mask.unsqueeze(-1)
        return Encoded(states, (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1), source)


@dataclass(frozen=True)
class LayerState:
    """What one layer has said so far, and the source it looks back at."""

    past: Memory
    source: Memory

    def select(self, rows: Int[Tensor, " R"]) -> "LayerState":
        """The state of other rows."""
        return LayerState(self.past.select(rows), self.source.select(rows))


@dataclass(frozen=True)
class TransformerState:
    """The state of every layer; how much has been said is how long their past is."""

    layers: tuple[LayerState, ...]

    @property
    def length(self) -> int:
        """Tokens taken in so far."""
        return self.layers[0].past.mask.shape[1]

    def select(self, rows: Int[Tensor, " R"]) -> "TransformerState":
        """The state of other rows."""
        return TransformerState(tuple(layer.select(rows) for layer in self.layers))


class DecoderLayer(nn.Module):
    """Look at what was said, look at the source, then think."""

    def __init__(
        self,
        width: int,
        self_attention: Attention,
        cross_attention: Attention,
        feed_forward: nn.Module,
        *,
        pre_norm: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.recalling, self.looking, self.thinking = (
            Residual(width, pre_norm=pre_norm, dropout=dropout) for _ in range(3)
        )

    def start(self, encoded: Encoded, nothing: Float[Tensor, "B 0 D"]) -> LayerState:
        """The source is remembered once; of the target there is nothing yet."""
        return LayerState(
            self.self_attention.remember(nothing, encoded.mask[:, :0]),
            self.cross_attention.remember(encoded.states, encoded.mask),
        )

    def forward(
        self, x: Float[Tensor, "B T D"], state: LayerState
    ) -> tuple[Float[Tensor, "B T D"], LayerState]:
        """New positions join the past before they ask it."""
        x, asked = self.recalling.fork(x)
        real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        recalled = look_within(self.self_attention, asked, real, state.past)
        x, asked = self.recalling.go_on(x, recalled.context, self.looking)
        seen = self.cross_attention(asked, state.source)
        x, asked = self.looking.go_on(x, seen.context, self.thinking)
        x = self.thinking.leave(x, self.feed_forward(asked))
        return x, LayerState(recalled.memory, seen.memory)


class TransformerDecoder(nn.Module):
    """A stack of layers that see the past and the source, and a score per word."""

    def __init__(
        self,
        width: int,
        embed: Embedding,
        layers: Sequence[DecoderLayer],
        *,
        pre_norm: bool = True,
        tied: bool = True,
    ) -> None:
        super().__init__()
        self.width = width
        self.longest = embed.positions.longest
        self.embed = embed
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.output = output_layer(width, embed.words, tied=tied)

    @property
    def words(self) -> nn.Embedding:
        """The table of its vocabulary."""
        return self.embed.words

    def attentions(self) -> list[AttentionLayer]:
        """The self-attention and the cross-attention of each layer."""
        attentions: list[AttentionLayer] = []
        for at, layer in enumerate(cast(Iterable[DecoderLayer], self.layers)):
            own, cross = f"layers.{at}.self_attention", f"layers.{at}.cross_attention"
            attentions.append(AttentionLayer(own, "decoder_self", at + 1, layer.self_attention))
            attentions.append(AttentionLayer(cross, "cross", at + 1, layer.cross_attention))
        return attentions

    def start(self, encoded: Encoded) -> TransformerState:
        """Every layer remembers the source."""
        nothing = encoded.states.new_zeros(len(encoded.states), 0, self.width)
        layers = cast(Iterable[DecoderLayer], self.layers)
        return TransformerState(tuple(layer.start(encoded, nothing) for layer in layers))

    def forward(
        self, ids: Int[Tensor, "B T"], state: TransformerState
    ) -> tuple[Float[Tensor, "B T V"], TransformerState]:
        """The logits of the word after each id."""
        vectors, state = self.think(ids, state)
        return self.output(vectors), state

    def think(
        self, ids: Int[Tensor, "B T"], state: TransformerState
    ) -> tuple[Float[Tensor, "B T D"], TransformerState]:
        """All given positions at once, after those already said."""
        x = self.embed(ids, first=state.length)
        states = []
        for layer, before in zip(self.layers, state.layers, strict=True):
            x, after = layer(x, before)
            states.append(after)
        return normed(self.norm, x), TransformerState(tuple(states))


def look_within(
    attention: Attention,
    states: Float[Tensor, "B T D"],
    mask: Bool[Tensor, "B T"],
    past: Memory | None = None,
) -> Attended:
    """A sequence asks itself, and what came before it, if there is a past."""
    within = getattr(attention, "within", None)
    if within is not None and (past is None or not past.mask.shape[1]):
        found = within(states, mask)
        if found is not None:
            return found
    memory = attention.remember(states, mask)
    return attention(states, memory if past is None else past.append(memory))
