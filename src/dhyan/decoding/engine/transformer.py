"""Transformers step by step: a cache of fixed size, and the source shared by a sentence's rows."""

from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from dhyan.batch import Tokens
from dhyan.decoding.engine.packed_weights import (
    Stack,
    decoder_stack,
    encoder_stack,
    fits_encoder,
    joined,
    places,
    source_memory,
)
from dhyan.decoding.engine.residual_stream import Road, ThinRoad, WideRoad
from dhyan.kernels.triton.decode.attention import keep, past_attention, source_attention
from dhyan.kernels.triton.decode.search_state import BeamBoard, GreedyBoard
from dhyan.models.positions import Positions
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import TransformerDecoder, TransformerEncoder


class TransformerPart:
    """The weights of a Transformer, shared by all its steppers."""

    def __init__(self, model: Seq2Seq, kind: torch.dtype, room: int = 4096) -> None:
        decoder = model.decoder
        assert isinstance(decoder, TransformerDecoder)
        self.kind, self.model = kind, model
        self.stack = decoder_stack(decoder, room, self.kind)
        self.output = joined([decoder.output], self.kind)
        self.memory = source_memory(decoder, self.kind)
        self.reader: Stack | None = None
        if fits_encoder(model.encoder):
            assert isinstance(model.encoder, TransformerEncoder)
            self.reader = encoder_stack(model.encoder, room, self.kind)

    def make_room(self, room: int) -> None:
        """Have a vector for every place up to there."""
        if room > len(self.stack.positions):
            self.stack = replace(self.stack, positions=places(_positions(self.model.decoder), room))
            if self.reader is not None:
                known = places(_positions(self.model.encoder), room)
                self.reader = replace(self.reader, positions=known)

    def encode(self, source: Tokens) -> Float[Tensor, "B S D"]:
        """The encoder's states, by the engine's own arithmetic where it has one."""
        if self.reader is None:
            return self.model.encoder(source).states
        return read(self.reader, source)


def read(stack: Stack, source: Tokens) -> Float[Tensor, "B S D"]:
    """All layers of an encoder over padded sentences."""
    rows, length = source.ids.shape
    at = torch.arange(length, device=source.ids.device, dtype=torch.int32).repeat(rows)
    road = WideRoad.start(stack, source.ids.flatten().int(), at)
    lengths = source.lengths.int()
    sizes = [stack.heads, stack.groups, stack.groups]
    for layer in stack.layers:
        asked = road.enter(layer.recall.enter).view(rows, length, -1, stack.head_width)
        query, keys, values = asked.split(sizes, dim=2)
        found = source_attention(
            query,
            keys.transpose(1, 2),
            values.transpose(1, 2),
            lengths,
            scale=stack.scale,
        )
        road.leave(found.flatten(0, 1), layer.recall.leave, layer.recall.norm)
        wide = road.enter(layer.think.enter, stack.bend)
        road.leave(wide, layer.think.leave, layer.think.norm)
    return road.entering.view(rows, length, -1)


class TransformerStepper:
    """So many places for sentences of up to `room` tokens, each with `width` rows."""

    def __init__(self, part: TransformerPart, sentences: int, width: int, room: int) -> None:
        part.make_room(room)
        stack = part.stack
        self.part, self.width = part, width
        layers, device = len(stack.layers), stack.table.device
        sizes = (stack.groups, room, stack.head_width)
        self.past = torch.zeros(
            layers, 2, sentences * width, *sizes, dtype=part.kind, device=device
        )
        self.source = torch.zeros(layers, 2, sentences, *sizes, dtype=part.kind, device=device)
        self.lengths = torch.zeros(sentences, dtype=torch.int32, device=device)

    def load(self, source: Tokens, slots: Int[Tensor, " B"]) -> None:
        """Read sentences and remember them at these places."""
        memory = self.part.memory
        states = self.part.encode(source)
        keep(functional.linear(states, memory.weight, memory.bias), slots, self.source)
        self.lengths.index_copy_(0, slots, source.lengths.int())

    def step(self, board: GreedyBoard | BeamBoard) -> Float[Tensor, "R V"]:
        """Feed the words of the board's sentences; the logits of the next."""
        part, stack = self.part, self.part.stack
        sentences, rows = len(board.places), board.words.numel()
        origins = board.origins if isinstance(board, BeamBoard) and self.width > 1 else None
        kind = ThinRoad if ThinRoad.takes(stack, rows) else WideRoad
        road: Road = kind.start(stack, board.words.flatten(), board.places)
        for layer, past, source in zip(stack.layers, self.past, self.source, strict=True):
            assert layer.look is not None
            found = past_attention(
                road.enter(layer.recall.enter),
                past[0],
                past[1],
                board.places,
                origins,
                heads=stack.heads,
                scale=stack.scale,
            )
            road.leave(found, layer.recall.leave, layer.recall.norm)
            asked = road.enter(layer.look.enter)
            found = source_attention(
                asked.view(sentences, self.width, stack.heads, stack.head_width),
                source[0, :sentences],
                source[1, :sentences],
                self.lengths[:sentences],
                scale=stack.scale,
                settled=True,
            )
            road.leave(found.flatten(0, 1), layer.look.leave, layer.look.norm)
            wide = road.enter(layer.think.enter, stack.bend)
            road.leave(wide, layer.think.leave, layer.think.norm)
        return road.say(part.output)

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Sentences change their places."""
        past = self.past.unflatten(2, (-1, self.width))
        past[:, :, end] = past[:, :, start]
        self.source[:, :, end] = self.source[:, :, start]
        self.lengths[end] = self.lengths[start]


def _positions(half: object) -> Positions:
    return cast(TransformerEncoder | TransformerDecoder, half).embedding.positions
