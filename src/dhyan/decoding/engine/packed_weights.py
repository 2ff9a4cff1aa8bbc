"""Packed weights of a Transformer for the decoding engine: concatenated, in one precision."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from dhyan.attention import (
    Attention,
    DotScore,
    Mask,
    MultiHeadAttention,
    all_positions,
    causal,
)
from dhyan.kernels.decode.residual_stream import Linear, Norm
from dhyan.models.feed_forward import ACTIVATIONS, FeedForward
from dhyan.models.positions import Positions
from dhyan.models.transformer import (
    DecoderLayer,
    EncoderLayer,
    TransformerDecoder,
    TransformerEmbedding,
    TransformerEncoder,
)

BLOCK_COUNTERS = 256  # blocks of rows that a product can count


@dataclass(frozen=True)
class SubLayer:
    """The linear layers into and out of a sub-layer, and the layer norm that follows it."""

    input: Linear
    output: Linear
    norm: Norm


@dataclass(frozen=True)
class Layer:
    """Self-attention, cross-attention (in a decoder) and feed-forward network."""

    self_attention: SubLayer
    cross_attention: SubLayer | None
    feed_forward: SubLayer


@dataclass(frozen=True)
class Stack:
    """Layers with their embedding; `first_norm` is the layer norm before them, with pre-norm.

    `block_counters` are zeros by which the blocks of a product count themselves.
    """

    layers: tuple[Layer, ...]
    embedding: Float[Tensor, "V D"]
    position_vectors: Float[Tensor, "T D"]
    first_norm: Norm | None
    heads: int
    kv_heads: int
    scale: float
    embedding_scale: float
    activation: str
    block_counters: Int[Tensor, " M"]

    @property
    def post_norm(self) -> bool:
        """Whether layer norms follow the residual sums."""
        return self.first_norm is None

    @property
    def head_width(self) -> int:
        """The width of a head."""
        return self.embedding.shape[1] // self.heads


def supports_decoder(decoder: object) -> bool:
    """Whether this is a decoder of dot-product heads with positions in its embedding alone."""
    if not isinstance(decoder, TransformerDecoder) or decoder.embedding.norm is not None:
        return False
    layers = list(cast(Iterable[DecoderLayer], decoder.layers))
    return all(
        isinstance(layer.feed_forward_norm, nn.LayerNorm)
        and _dot_heads(layer.self_attention, causal)
        and _dot_heads(layer.cross_attention, all_positions)
        for layer in layers
    )


def supports_encoder(encoder: object) -> bool:
    """Whether this is an encoder of dot-product heads that attend to all positions."""
    if not isinstance(encoder, TransformerEncoder) or not encoder.reads_eos:
        return False
    if isinstance(encoder.embedding, TransformerEmbedding) and encoder.embedding.norm is not None:
        return False
    layers = list(cast(Iterable[EncoderLayer], encoder.layers))
    return all(
        isinstance(layer.feed_forward_norm, nn.LayerNorm)
        and _dot_heads(layer.self_attention, all_positions)
        for layer in layers
    )


def decoder_stack(decoder: TransformerDecoder, capacity: int, dtype: torch.dtype) -> Stack:
    """The weights of a decoder, with vectors for so many positions."""
    layers = list(cast(Iterable[DecoderLayer], decoder.layers))
    norms_in_order = [
        (layer.self_attention_norm, layer.cross_attention_norm, layer.feed_forward_norm)
        for layer in layers
    ]
    first, norms = _norms(norms_in_order, decoder.final_norm)
    packed = [
        Layer(
            self_attention=_self_attention(_heads(layer.self_attention), norms[3 * at], dtype),
            cross_attention=_cross_attention(
                _heads(layer.cross_attention), norms[3 * at + 1], dtype
            ),
            feed_forward=_feed_forward(layer.feed_forward, norms[3 * at + 2], dtype),
        )
        for at, layer in enumerate(layers)
    ]
    return _stack(packed, decoder, first, capacity, dtype)


def encoder_stack(encoder: TransformerEncoder, capacity: int, dtype: torch.dtype) -> Stack:
    """The weights of an encoder, with vectors for so many positions."""
    layers = list(cast(Iterable[EncoderLayer], encoder.layers))
    norms_in_order = [
        (cast(nn.Module, layer.self_attention_norm), layer.feed_forward_norm) for layer in layers
    ]
    first, norms = _norms(norms_in_order, encoder.final_norm)
    packed = [
        Layer(
            self_attention=_self_attention(_heads(layer.self_attention), norms[2 * at], dtype),
            cross_attention=None,
            feed_forward=_feed_forward(layer.feed_forward, norms[2 * at + 1], dtype),
        )
        for at, layer in enumerate(layers)
    ]
    return _stack(packed, encoder, first, capacity, dtype)


def cross_attention_memory(decoder: TransformerDecoder, dtype: torch.dtype) -> Linear:
    """From encoder states to the cross-attention keys and values of every layer, in one product."""
    layers = cast(Iterable[DecoderLayer], decoder.layers)
    heads = [_heads(layer.cross_attention) for layer in layers]
    return concat_linear(
        [part for attention in heads for part in (attention.key, attention.value)], dtype
    )


def concat_linear(layers: Sequence[nn.Module | None], dtype: torch.dtype) -> Linear:
    """Several linear layers of one input as one."""
    parts = [cast(nn.Linear, layer) for layer in layers]
    weight = torch.cat([part.weight.detach() for part in parts]).to(dtype)
    bias = torch.cat([part.bias.detach() for part in parts]).to(dtype)
    return Linear(weight, bias, weight.float().sum(dim=1))


@torch.no_grad()
def fold_norms(decoder: TransformerDecoder) -> None:
    """With pre-norm, fold weight and bias of every layer norm into the linear layers after it."""
    if not isinstance(decoder.final_norm, nn.LayerNorm):
        return
    for layer in cast(Iterable[DecoderLayer], decoder.layers):
        heads, network = _heads(layer.self_attention), cast(FeedForward, layer.feed_forward)
        _fold(layer.self_attention_norm, [heads.query, heads.key, heads.value])
        _fold(layer.cross_attention_norm, [_heads(layer.cross_attention).query])
        _fold(layer.feed_forward_norm, [network.up, network.gate])
    _fold(decoder.final_norm, [decoder.output])


def _fold(module: nn.Module, layers: Sequence[nn.Linear | None]) -> None:
    norm = cast(nn.LayerNorm, module)
    for layer in layers:
        if layer is not None:
            layer.bias.add_(layer.weight @ norm.bias)
            layer.weight = nn.Parameter(layer.weight * norm.weight)  # no longer shared, if it was
    norm.weight.fill_(1.0)
    norm.bias.zero_()


def _stack(
    layers: Sequence[Layer],
    half: TransformerDecoder | TransformerEncoder,
    first: Norm | None,
    capacity: int,
    dtype: torch.dtype,
) -> Stack:
    layer = cast(DecoderLayer | EncoderLayer, half.layers[0])
    assert isinstance(half.embedding, TransformerEmbedding), "a source of frames is not supported"
    heads, embedding = _heads(layer.self_attention), half.embedding.token_embedding
    scaled, device = cast(DotScore, heads.score).scaled, embedding.weight.device
    return Stack(
        layers=tuple(layers),
        embedding=embedding.weight.detach().to(dtype),
        position_vectors=position_vectors(half.embedding.positions, capacity),
        first_norm=first,
        heads=heads.heads,
        kv_heads=heads.kv_heads,
        scale=(embedding.embedding_dim // heads.heads) ** -0.5 if scaled else 1.0,
        embedding_scale=half.embedding.scale,
        activation=_activation(layer.feed_forward),
        block_counters=torch.zeros(BLOCK_COUNTERS, dtype=torch.int32, device=device),
    )


def _self_attention(heads: MultiHeadAttention, norm: Norm, dtype: torch.dtype) -> SubLayer:
    qkv = concat_linear([heads.query, heads.key, heads.value], dtype)
    return SubLayer(qkv, concat_linear([heads.output], dtype), norm)


def _cross_attention(heads: MultiHeadAttention, norm: Norm, dtype: torch.dtype) -> SubLayer:
    return SubLayer(concat_linear([heads.query], dtype), concat_linear([heads.output], dtype), norm)


def _feed_forward(feed_forward: nn.Module, norm: Norm, dtype: torch.dtype) -> SubLayer:
    network = cast(FeedForward, feed_forward)
    wide = [network.up] if network.gate is None else [network.gate, network.up]
    return SubLayer(concat_linear(wide, dtype), concat_linear([network.down], dtype), norm)


def _norms(
    layers: Sequence[Sequence[nn.Module]], last: nn.Module
) -> tuple[Norm | None, list[Norm]]:
    """The layer norm before the first sub-layer, with pre-norm, and that after each sub-layer."""
    norms = [_norm(norm) for layer in layers for norm in layer]
    if isinstance(last, nn.LayerNorm):
        return norms[0], [*norms[1:], _norm(last)]
    return None, norms


def _norm(module: nn.Module) -> Norm:
    norm = cast(nn.LayerNorm, module)
    return Norm(norm.weight.detach().float(), norm.bias.detach().float(), norm.eps)


def position_vectors(positions: Positions, capacity: int) -> Float[Tensor, "T D"]:
    """A vector for every position; zeros past the last one that was learned."""
    vectors = positions(0, min(capacity, positions.max_length or capacity)).detach().float()
    return pad(vectors, (0, 0, 0, capacity - len(vectors))).contiguous()


def _activation(feed_forward: nn.Module) -> str:
    network = cast(FeedForward, feed_forward)
    if network.gate is not None:
        return "swiglu"
    return next(name for name, function in ACTIVATIONS.items() if function is network.activation)


def _heads(attention: Attention | None) -> MultiHeadAttention:
    return cast(MultiHeadAttention, attention)


def _dot_heads(heads: object, mask: Mask) -> bool:
    if not isinstance(heads, MultiHeadAttention):
        return False
    return type(heads.score) is DotScore and heads.mask == mask
