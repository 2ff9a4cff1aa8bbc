"""Transformer decoders in the decoding engine: fixed-size key-value cache, shared source."""

from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from dhyan.batch import Tokens
from dhyan.decoding.engine.packed_weights import (
    Stack,
    concat_linear,
    cross_attention_memory,
    decoder_stack,
    encoder_stack,
    position_vectors,
    supports_encoder,
)
from dhyan.decoding.engine.residual_stream import (
    LargeBatchStream,
    ResidualStream,
    SmallBatchStream,
)
from dhyan.kernels.decode.attention import cross_attention, self_attention, write_cache
from dhyan.kernels.search_state import BeamSearchState, GreedySearchState
from dhyan.models.positions import Positions
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import TransformerDecoder, TransformerEncoder


class TransformerWeights:
    """The packed weights of a Transformer, shared by all its steppers."""

    def __init__(self, model: Seq2Seq, dtype: torch.dtype, capacity: int = 4096) -> None:
        decoder = model.decoder
        assert isinstance(decoder, TransformerDecoder)
        self.dtype, self.model = dtype, model
        self.decoder = decoder_stack(decoder, capacity, dtype)
        self.output = concat_linear([decoder.output], dtype)
        self.memory = cross_attention_memory(decoder, dtype)
        self.encoder: Stack | None = None
        if supports_encoder(model.encoder):
            assert isinstance(model.encoder, TransformerEncoder)
            self.encoder = encoder_stack(model.encoder, capacity, dtype)

    def grow(self, capacity: int) -> None:
        """Have a vector for every position up to the capacity."""
        if capacity > len(self.decoder.position_vectors):
            vectors = position_vectors(_positions(self.model.decoder), capacity)
            self.decoder = replace(self.decoder, position_vectors=vectors)
            if self.encoder is not None:
                vectors = position_vectors(_positions(self.model.encoder), capacity)
                self.encoder = replace(self.encoder, position_vectors=vectors)

    def encode(self, source: Tokens) -> tuple[Float[Tensor, "B S D"], Int[Tensor, " B"]]:
        """The encoder's states, by the packed weights where they are supported; their number."""
        if self.encoder is None:
            encoded = self.model.encoder(source)
            return encoded.states, encoded.source.lengths
        return encode(self.encoder, source), source.lengths


def encode(stack: Stack, source: Tokens) -> Float[Tensor, "B S D"]:
    """All layers of an encoder over padded sentences."""
    rows, length = source.ids.shape
    positions = torch.arange(length, device=source.ids.device, dtype=torch.int32).repeat(rows)
    stream = LargeBatchStream.start(stack, source.ids.flatten().int(), positions)
    lengths = source.lengths.int()
    sizes = [stack.heads, stack.kv_heads, stack.kv_heads]
    for layer in stack.layers:
        qkv = stream.project(layer.self_attention.input).view(rows, length, -1, stack.head_width)
        query, keys, values = qkv.split(sizes, dim=2)
        context = cross_attention(
            query,
            keys.transpose(1, 2),
            values.transpose(1, 2),
            lengths,
            scale=stack.scale,
        )
        sublayer = layer.self_attention
        stream.add(context.flatten(0, 1), sublayer.output, sublayer.norm)
        wide = stream.project(layer.feed_forward.input, stack.activation)
        stream.add(wide, layer.feed_forward.output, layer.feed_forward.norm)
    return stream.hidden.view(rows, length, -1)


class TransformerStepper:
    """Slots for sentences of up to `capacity` tokens, each with `width` rows."""

    def __init__(self, weights: TransformerWeights, slots: int, width: int, capacity: int) -> None:
        weights.grow(capacity)
        stack, dtype = weights.decoder, weights.dtype
        self.weights, self.width = weights, width
        layers, device = len(stack.layers), stack.embedding.device
        sizes = (stack.kv_heads, capacity, stack.head_width)
        self.past = torch.zeros(layers, 2, slots * width, *sizes, dtype=dtype, device=device)
        self.source = torch.zeros(layers, 2, slots, *sizes, dtype=dtype, device=device)
        self.lengths = torch.zeros(slots, dtype=torch.int32, device=device)

    def load(self, source: Tokens, slots: Int[Tensor, " B"]) -> None:
        """Encode sentences and write their keys and values into these slots."""
        memory = self.weights.memory
        states, lengths = self.weights.encode(source)
        write_cache(functional.linear(states, memory.weight, memory.bias), slots, self.source)
        self.lengths.index_copy_(0, slots, lengths.int())

    def step(self, search: GreedySearchState | BeamSearchState) -> Float[Tensor, "R V"]:
        """Read the tokens of the search; the logits of the next ones."""
        stack = self.weights.decoder
        slots, rows = len(search.steps), search.tokens.numel()
        beam = isinstance(search, BeamSearchState) and self.width > 1
        cache_rows = cast(BeamSearchState, search).cache_rows if beam else None
        small = SmallBatchStream.supports(stack, rows)
        stream: ResidualStream = (SmallBatchStream if small else LargeBatchStream).start(
            stack, search.tokens.flatten(), search.steps
        )
        for layer, past, source in zip(stack.layers, self.past, self.source, strict=True):
            assert layer.cross_attention is not None
            context = self_attention(
                stream.project(layer.self_attention.input),
                past[0],
                past[1],
                search.steps,
                cache_rows,
                heads=stack.heads,
                scale=stack.scale,
            )
            stream.add(context, layer.self_attention.output, layer.self_attention.norm)
            query = stream.project(layer.cross_attention.input)
            context = cross_attention(
                query.view(slots, self.width, stack.heads, stack.head_width),
                source[0, :slots],
                source[1, :slots],
                self.lengths[:slots],
                scale=stack.scale,
                constant_memory=True,
            )
            sublayer = layer.cross_attention
            stream.add(context.flatten(0, 1), sublayer.output, sublayer.norm)
            wide = stream.project(layer.feed_forward.input, stack.activation)
            stream.add(wide, layer.feed_forward.output, layer.feed_forward.norm)
        return stream.logits(self.weights.output)

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Move sentences to other slots."""
        past = self.past.unflatten(2, (-1, self.width))
        past[:, :, end] = past[:, :, start]
        self.source[:, :, end] = self.source[:, :, start]
        self.lengths[end] = self.lengths[start]


def _positions(half: object) -> Positions:
    return cast(TransformerEncoder | TransformerDecoder, half).embedding.positions
