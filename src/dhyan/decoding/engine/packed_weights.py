"""A Transformer's weights as the engine uses them: joined, in one precision, in their order."""

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
from dhyan.kernels.triton.decode.residual_stream import Linear, Norm
from dhyan.models.feed_forward import ACTIVATIONS, FeedForward
from dhyan.models.positions import Positions
from dhyan.models.transformer import (
    DecoderLayer,
    EncoderLayer,
    TransformerDecoder,
    TransformerEncoder,
)

BLOCKS = 256  # of rows that a product can count


@dataclass(frozen=True)
class Block:
    """A step beside the main road: what leads into it and out of it, and the norm that follows."""

    enter: Linear
    leave: Linear
    norm: Norm


@dataclass(frozen=True)
class Layer:
    """What one layer does: it recalls, looks at the source (in a decoder), and thinks."""

    recall: Block
    look: Block | None
    think: Block


@dataclass(frozen=True)
class Stack:
    """Layers with their embedding; `first` is the norm before all of them, if there is one.

    `arrivals` are zeros by which the blocks of a product count themselves.
    """

    layers: tuple[Layer, ...]
    table: Float[Tensor, "V D"]
    positions: Float[Tensor, "T D"]
    first: Norm | None
    heads: int
    groups: int
    scale: float
    bend: str
    arrivals: Int[Tensor, " M"]

    @property
    def post(self) -> bool:
        """Whether norms stand after the steps."""
        return self.first is None

    @property
    def head_width(self) -> int:
        """How wide a head is."""
        return self.table.shape[1] // self.heads


def fits_decoder(decoder: object) -> bool:
    """Whether this is a decoder of dot-product heads that knows places by its embedding alone."""
    if not isinstance(decoder, TransformerDecoder):
        return False
    layers = list(cast(Iterable[DecoderLayer], decoder.layers))
    return all(
        _dot_heads(layer.self_attention, causal)
        and _dot_heads(layer.cross_attention, all_positions)
        for layer in layers
    )


def fits_encoder(encoder: object) -> bool:
    """Whether this is an encoder of dot-product heads that see everything."""
    if not isinstance(encoder, TransformerEncoder):
        return False
    layers = list(cast(Iterable[EncoderLayer], encoder.layers))
    return all(_dot_heads(layer.self_attention, all_positions) for layer in layers)


def decoder_stack(decoder: TransformerDecoder, room: int, kind: torch.dtype) -> Stack:
    """The weights of a decoder, with places for so many tokens."""
    layers = list(cast(Iterable[DecoderLayer], decoder.layers))
    norms_in_order = [
        (layer.self_attention_norm, layer.cross_attention_norm, layer.feed_forward_norm)
        for layer in layers
    ]
    first, norms = _norms(norms_in_order, decoder.final_norm)
    made = [
        Layer(
            recall=_recall(_heads(layer.self_attention), norms[3 * at], kind),
            look=_look(_heads(layer.cross_attention), norms[3 * at + 1], kind),
            think=_think(layer.feed_forward, norms[3 * at + 2], kind),
        )
        for at, layer in enumerate(layers)
    ]
    return _stack(made, decoder, first, room, kind)


def encoder_stack(encoder: TransformerEncoder, room: int, kind: torch.dtype) -> Stack:
    """The weights of an encoder, with places for so many tokens."""
    layers = list(cast(Iterable[EncoderLayer], encoder.layers))
    norms_in_order = [
        (cast(nn.LayerNorm, layer.self_attention_norm), layer.feed_forward_norm) for layer in layers
    ]
    first, norms = _norms(norms_in_order, encoder.final_norm)
    made = [
        Layer(
            recall=_recall(_heads(layer.self_attention), norms[2 * at], kind),
            look=None,
            think=_think(layer.feed_forward, norms[2 * at + 1], kind),
        )
        for at, layer in enumerate(layers)
    ]
    return _stack(made, encoder, first, room, kind)


def source_memory(decoder: TransformerDecoder, kind: torch.dtype) -> Linear:
    """From the encoder's states to the keys and values of every layer, all at once."""
    layers = cast(Iterable[DecoderLayer], decoder.layers)
    heads = [_heads(layer.cross_attention) for layer in layers]
    return joined([part for head in heads for part in (head.key, head.value)], kind)


def joined(parts: Sequence[nn.Module | None], kind: torch.dtype) -> Linear:
    """Several linear maps of one vector as one."""
    maps = [cast(nn.Linear, part) for part in parts]
    weight = torch.cat([one.weight.detach() for one in maps]).to(kind)
    bias = torch.cat([one.bias.detach() for one in maps]).to(kind)
    return Linear(weight, bias, weight.float().sum(dim=1))


@torch.no_grad()
def fold_norms(decoder: TransformerDecoder) -> None:
    """Put the gain and shift of every norm that stands before maps into those maps, for good."""
    if not isinstance(decoder.final_norm, nn.LayerNorm):
        return
    for layer in cast(Iterable[DecoderLayer], decoder.layers):
        recall, think = (
            _heads(layer.self_attention),
            cast(FeedForward, layer.feed_forward),
        )
        _fold(layer.self_attention_norm, [recall.query, recall.key, recall.value])
        _fold(layer.cross_attention_norm, [_heads(layer.cross_attention).query])
        _fold(layer.feed_forward_norm, [think.up, think.gate])
    _fold(decoder.final_norm, [decoder.output])


def _fold(norm: nn.LayerNorm, maps: Sequence[nn.Linear | None]) -> None:
    for one in maps:
        if one is not None:
            one.bias.add_(one.weight @ norm.bias)
            one.weight = nn.Parameter(one.weight * norm.weight)  # its own, even if it was shared
    norm.weight.fill_(1.0)
    norm.bias.zero_()


def _stack(
    layers: Sequence[Layer],
    half: TransformerDecoder | TransformerEncoder,
    first: Norm | None,
    room: int,
    kind: torch.dtype,
) -> Stack:
    layer = cast(DecoderLayer | EncoderLayer, half.layers[0])
    heads, words = _heads(layer.self_attention), half.embedding.token_embedding
    scaled = cast(DotScore, heads.score).scaled
    return Stack(
        layers=tuple(layers),
        table=words.weight.detach().to(kind),
        positions=places(half.embedding.positions, room),
        first=first,
        heads=heads.heads,
        groups=heads.kv_heads,
        scale=(words.embedding_dim // heads.heads) ** -0.5 if scaled else 1.0,
        bend=_bend(layer.feed_forward),
        arrivals=torch.zeros(BLOCKS, dtype=torch.int32, device=words.weight.device),
    )


def _recall(heads: MultiHeadAttention, norm: Norm, kind: torch.dtype) -> Block:
    asked = joined([heads.query, heads.key, heads.value], kind)
    return Block(asked, joined([heads.output], kind), norm)


def _look(heads: MultiHeadAttention, norm: Norm, kind: torch.dtype) -> Block:
    return Block(joined([heads.query], kind), joined([heads.output], kind), norm)


def _think(feed_forward: nn.Module, norm: Norm, kind: torch.dtype) -> Block:
    think = cast(FeedForward, feed_forward)
    wide = [think.up] if think.gate is None else [think.gate, think.up]
    return Block(joined(wide, kind), joined([think.down], kind), norm)


def _norms(
    layers: Sequence[Sequence[nn.LayerNorm]], last: nn.Module
) -> tuple[Norm | None, list[Norm]]:
    """The norm before the first step, if there is one, and that after each step."""
    own = [_norm(norm) for layer in layers for norm in layer]
    if isinstance(last, nn.LayerNorm):
        return own[0], [*own[1:], _norm(last)]
    return None, own


def _norm(norm: nn.LayerNorm) -> Norm:
    return Norm(norm.weight.detach().float(), norm.bias.detach().float(), norm.eps)


def places(positions: Positions, room: int) -> Float[Tensor, "T D"]:
    """A vector for every place; past the last one that was learned there are zeros."""
    known = positions(0, min(room, positions.max_length or room)).detach().float()
    return pad(known, (0, 0, 0, room - len(known))).contiguous()


def _bend(feed_forward: nn.Module) -> str:
    bend = cast(FeedForward, feed_forward).activation
    return next(name for name, one in ACTIVATIONS.items() if one is bend)


def _heads(attention: Attention | None) -> MultiHeadAttention:
    return cast(MultiHeadAttention, attention)


def _dot_heads(heads: object, mask: Mask) -> bool:
    if not isinstance(heads, MultiHeadAttention):
        return False
    return type(heads.score) is DotScore and heads.mask == mask
