"""The Transformer (Vaswani et al., 2017), with layer norm before or after each sub-layer.

Post-norm is the paper's. Pre-norm (Wang et al., 2019; Xiong et al., 2020), the default, normalises
the input of each sub-layer, so the sum that leaves the last layer needs one more, the final norm.
The layers are written with fused operations: `residual_norm` and `add_norm` return the residual and
its layer norm, so the norm of a sub-layer is computed together with the sum before it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.attention import Attention, Memory, last_position
from dhyan.batch import Frames, Source
from dhyan.kernels.ops import add, add_norm, embedding, norm, residual_norm
from dhyan.models.embedding import output_layer
from dhyan.models.interface import AttentionLayer, Encoded
from dhyan.models.positions import Positions
from dhyan.models.stems import SourceEmbedding, Stem
from dhyan.special_tokens import EOS

Normalization = Callable[[int], nn.LayerNorm | nn.RMSNorm]
NORMALIZATIONS: dict[str, Normalization] = {  # RMS norm (Zhang and Sennrich, 2019) with T5's ε
    "layer": nn.LayerNorm,
    "rms": partial(nn.RMSNorm, eps=1e-6),
}
_NO_DROPOUT = nn.Dropout(0.0)


class TransformerEmbedding(nn.Module):
    """Token embeddings scaled by √width, plus position embeddings (section 3.4 and 3.5).

    BART (Lewis et al., 2020) normalises their sum.
    """

    def __init__(
        self,
        token_embedding: nn.Embedding,
        positions: Positions,
        *,
        scaled: bool = True,
        normalized: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.token_embedding = token_embedding
        self.positions = positions
        self.scale = token_embedding.embedding_dim**0.5 if scaled else 1.0
        self.norm = nn.LayerNorm(token_embedding.embedding_dim) if normalized else None
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, token_ids: Int[Tensor, "B T"], first_position: int = 0
    ) -> Float[Tensor, "B T D"]:
        """The vectors of tokens at the positions from `first_position` on."""
        x = embedding(
            token_ids,
            self.token_embedding,
            self.positions(first_position, token_ids.shape[1]),
            scale=self.scale,
            dropout=self.dropout if self.norm is None else _NO_DROPOUT,
        )
        return x if self.norm is None else self.dropout(norm(x, self.norm))


class FrameEmbedding(nn.Module):
    """The vectors of a stem, plus position embeddings: the embedding of frames."""

    def __init__(self, stem: Stem, positions: Positions, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.token_embedding = stem
        self.positions = positions
        self.dropout = nn.Dropout(dropout)

    def forward(self, frames: Frames) -> Float[Tensor, "B S D"]:
        """The vectors of all frames."""
        vectors = self.token_embedding(frames)
        return self.dropout(vectors + self.positions(0, vectors.shape[1]))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (figure 1, left); without attention, feed-forward alone.

    Pre-norm: x = x + dropout(self_attention(norm(x))). Post-norm, as in the paper:
    x = norm(x + dropout(self_attention(x))). Layers without attention are a baseline that
    shows what self-attention contributes.
    """

    def __init__(
        self,
        width: int,
        self_attention: Attention | None,
        feed_forward: nn.Module,
        *,
        pre_norm: bool = True,
        normalization: Normalization = nn.LayerNorm,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.pre_norm = pre_norm
        self.self_attention = self_attention
        self.self_attention_norm = None if self_attention is None else normalization(width)
        self.feed_forward = feed_forward
        self.feed_forward_norm = normalization(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "B S D"], source: Source) -> Float[Tensor, "B S D"]:
        """Every position attends where the attention's mask allows; never to padding."""
        return self._pre_norm(x, source) if self.pre_norm else self._post_norm(x, source)

    def _pre_norm(self, x: Float[Tensor, "B S D"], source: Source) -> Float[Tensor, "B S D"]:
        if self.self_attention is None or self.self_attention_norm is None:
            residual, hidden = residual_norm(x, self.feed_forward_norm)
        else:
            residual, hidden = residual_norm(x, self.self_attention_norm)
            output = self.self_attention.self_attend(hidden, source.mask).context
            residual, hidden = add_norm(residual, output, self.feed_forward_norm, self.dropout)
        return add(residual, self.feed_forward(hidden), self.dropout)

    def _post_norm(self, x: Float[Tensor, "B S D"], source: Source) -> Float[Tensor, "B S D"]:
        if self.self_attention is not None and self.self_attention_norm is not None:
            output = self.self_attention.self_attend(x, source.mask).context
            _, x = add_norm(x, output, self.self_attention_norm, self.dropout)
        _, x = add_norm(x, self.feed_forward(x), self.feed_forward_norm, self.dropout)
        return x


class TransformerEncoder(nn.Module):
    """A stack of layers over embedded tokens; the summary is the mean of its states.

    The paper has no summary: recurrent decoders over this encoder start from it. Unless it
    `reads_eos`, nothing attends to the EOS of a sentence, which is masked like padding.
    """

    def __init__(
        self,
        width: int,
        embedding: TransformerEmbedding | FrameEmbedding,
        layers: Sequence[EncoderLayer],
        *,
        pre_norm: bool = True,
        normalization: Normalization = nn.LayerNorm,
        reads_eos: bool = True,
    ) -> None:
        super().__init__()
        self.width = width
        self.reads_eos = reads_eos
        self.summary_shape = (1, 1, width)
        self.max_length = embedding.positions.max_length
        self.final_state_mask = last_position
        self.embedding = embedding
        self.layers = nn.ModuleList(layers)
        self.final_norm = normalization(width) if pre_norm else nn.Identity()

    @property
    def token_embedding(self) -> SourceEmbedding:
        """The embedding of its vocabulary, or its stem."""
        return self.embedding.token_embedding

    def attentions(self) -> list[AttentionLayer]:
        """The self-attention of each layer that has one."""
        layers = cast(Iterable[EncoderLayer], self.layers)
        return [
            AttentionLayer(f"layers.{at}.self_attention", "encoder_self", at + 1, attention)
            for at, attention in enumerate(layer.self_attention for layer in layers)
            if attention is not None
        ]

    def forward(self, source: Source) -> Encoded:
        """All positions at once."""
        if not self.reads_eos:
            source = source.without(EOS)
        x = self.embedding(source.inputs)
        for layer in self.layers:
            x = layer(x, source)
        states = norm(x, self.final_norm)
        real = source.mask.unsqueeze(-1)
        return Encoded(states, (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1), source)


@dataclass(frozen=True)
class LayerState:
    """The key-value cache of a layer's self-attention, and its memory of the source."""

    past: Memory
    source: Memory

    def select(self, rows: Int[Tensor, " R"]) -> "LayerState":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        return LayerState(self.past.select(rows), self.source.select(rows))


@dataclass(frozen=True)
class TransformerState:
    """The state of every layer."""

    layers: tuple[LayerState, ...]

    @property
    def length(self) -> int:
        """How many tokens have been decoded."""
        return self.layers[0].past.mask.shape[1]

    def select(self, rows: Int[Tensor, " R"]) -> "TransformerState":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        return TransformerState(tuple(layer.select(rows) for layer in self.layers))


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward (figure 1, right), pre- or post-norm.

    The layer itself masks nothing: `self_attention` must have been built with `mask=causal`.
    """

    def __init__(
        self,
        width: int,
        self_attention: Attention,
        cross_attention: Attention,
        feed_forward: nn.Module,
        *,
        pre_norm: bool = True,
        normalization: Normalization = nn.LayerNorm,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.pre_norm = pre_norm
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.self_attention_norm = normalization(width)
        self.cross_attention_norm = normalization(width)
        self.feed_forward_norm = normalization(width)
        self.dropout = nn.Dropout(dropout)

    def start(self, encoded: Encoded, no_states: Float[Tensor, "B 0 D"]) -> LayerState:
        """An empty key-value cache, and the keys and values of the source."""
        return LayerState(
            self.self_attention.remember(no_states, encoded.mask[:, :0]),
            self.cross_attention.remember(encoded.states, encoded.mask),
        )

    def forward(
        self, x: Float[Tensor, "B T D"], state: LayerState
    ) -> tuple[Float[Tensor, "B T D"], LayerState]:
        """New positions attend to the past, to each other and to the source."""
        return self._pre_norm(x, state) if self.pre_norm else self._post_norm(x, state)

    def _pre_norm(
        self, x: Float[Tensor, "B T D"], state: LayerState
    ) -> tuple[Float[Tensor, "B T D"], LayerState]:
        residual, hidden = residual_norm(x, self.self_attention_norm)
        output, _, past = self.self_attention.self_attend(hidden, _all_real(hidden), state.past)
        residual, hidden = add_norm(residual, output, self.cross_attention_norm, self.dropout)
        output, _, source = self.cross_attention(hidden, state.source)
        residual, hidden = add_norm(residual, output, self.feed_forward_norm, self.dropout)
        x = add(residual, self.feed_forward(hidden), self.dropout)
        return x, LayerState(past, source)

    def _post_norm(
        self, x: Float[Tensor, "B T D"], state: LayerState
    ) -> tuple[Float[Tensor, "B T D"], LayerState]:
        output, _, past = self.self_attention.self_attend(x, _all_real(x), state.past)
        _, x = add_norm(x, output, self.self_attention_norm, self.dropout)
        output, _, source = self.cross_attention(x, state.source)
        _, x = add_norm(x, output, self.cross_attention_norm, self.dropout)
        _, x = add_norm(x, self.feed_forward(x), self.feed_forward_norm, self.dropout)
        return x, LayerState(past, source)


def _all_real(x: Float[Tensor, "B T D"]) -> Tensor:
    """A padding mask without padding: the causal mask hides a target's padding from its tokens."""
    return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)


class TransformerDecoder(nn.Module):
    """A stack of decoder layers over embedded tokens, and an output layer.

    If `tied`, the output layer has the weights of the token embedding (Press and Wolf, 2017).
    """

    def __init__(
        self,
        width: int,
        embedding: TransformerEmbedding,
        layers: Sequence[DecoderLayer],
        *,
        pre_norm: bool = True,
        normalization: Normalization = nn.LayerNorm,
        tied: bool = True,
    ) -> None:
        super().__init__()
        self.width = width
        self.max_length = embedding.positions.max_length
        self.embedding = embedding
        self.layers = nn.ModuleList(layers)
        self.final_norm = normalization(width) if pre_norm else nn.Identity()
        self.output = output_layer(width, embedding.token_embedding, tied=tied)

    @property
    def token_embedding(self) -> nn.Embedding:
        """The embedding of its vocabulary."""
        return self.embedding.token_embedding

    def attentions(self) -> list[AttentionLayer]:
        """The self-attention and the cross-attention of each layer."""
        attentions: list[AttentionLayer] = []
        for at, layer in enumerate(cast(Iterable[DecoderLayer], self.layers)):
            prefix = f"layers.{at}"
            attentions += [
                AttentionLayer(
                    f"{prefix}.self_attention", "decoder_self", at + 1, layer.self_attention
                ),
                AttentionLayer(f"{prefix}.cross_attention", "cross", at + 1, layer.cross_attention),
            ]
        return attentions

    def start(self, encoded: Encoded) -> TransformerState:
        """Every layer remembers the source."""
        no_states = encoded.states.new_zeros(len(encoded.states), 0, self.width)
        layers = cast(Iterable[DecoderLayer], self.layers)
        return TransformerState(tuple(layer.start(encoded, no_states) for layer in layers))

    def forward(
        self, token_ids: Int[Tensor, "B T"], state: TransformerState
    ) -> tuple[Float[Tensor, "B T V"], TransformerState]:
        """The logits of the token after each of these."""
        hidden, state = self.hidden(token_ids, state)
        return self.output(hidden), state

    def hidden(
        self, token_ids: Int[Tensor, "B T"], state: TransformerState
    ) -> tuple[Float[Tensor, "B T D"], TransformerState]:
        """All tokens at once, after those decoded before."""
        x = self.embedding(token_ids, first_position=state.length)
        states = []
        for layer, layer_state in zip(self.layers, state.layers, strict=True):
            x, layer_state = layer(x, layer_state)
            states.append(layer_state)
        return norm(x, self.final_norm), TransformerState(tuple(states))
