"""Recurrent decoders step by step: a state of fixed size, the source shared by its rows."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dhyan.attention import (
    AdditiveScore,
    DotScore,
    GeneralScore,
    LocationScore,
    Memory,
    MultiHeadAttention,
    PredictedWindow,
    SingleHeadAttention,
    UniformScore,
    all_positions,
    first_position,
    last_position,
)
from dhyan.batch import Tokens
from dhyan.kernels.triton.decode.search_state import BeamBoard, GreedyBoard
from dhyan.models.embedding import OneHot
from dhyan.models.rnn import BahdanauDecoder, BahdanauState, LuongDecoder, LuongState
from dhyan.models.seq2seq import Seq2Seq

Recurrent = BahdanauDecoder | LuongDecoder
SCORES = (AdditiveScore, DotScore, GeneralScore, LocationScore, UniformScore)
MASKS = (all_positions, last_position, first_position)
TOGETHER = 4  # rows of a sentence: few enough for kernels that take each query by itself


def fits_recurrent(decoder: object) -> bool:
    """Whether its looks depend on its state and the source alone, and not on earlier looks."""
    if not isinstance(decoder, BahdanauDecoder | LuongDecoder) or isinstance(
        decoder.token_embedding, OneHot
    ):
        return False
    look = decoder.attention
    if not isinstance(look, SingleHeadAttention | MultiHeadAttention):
        return False
    mask = look.mask in MASKS or isinstance(look.mask, PredictedWindow)
    return mask and type(look.score) in SCORES


class RecurrentStepper:
    """So many places for sentences of up to `room` tokens, each with `width` rows."""

    def __init__(self, model: Seq2Seq, sentences: int, width: int, room: int) -> None:
        self.model, self.width = model, width
        decoder = model.decoder
        assert isinstance(decoder, BahdanauDecoder | LuongDecoder)
        self.decoder: Recurrent = decoder
        weight = decoder.output.weight
        parts, layers, wide = decoder.recurrence.state_shape
        self.hidden = weight.new_zeros(sentences, width, parts, layers, wide)
        fed = decoder.width if isinstance(decoder, LuongDecoder) else 0
        self.fed = weight.new_zeros(sentences, width, fed)
        self.memory = _room_for(decoder, model.encoder.width, sentences, room, weight)

    def load(self, source: Tokens, slots: Int[Tensor, " B"]) -> None:
        """Read sentences and remember them at these places, nothing fed yet."""
        state, memory = self.model.start(source), self.memory
        assert isinstance(state, BahdanauState | LuongState)
        size = source.ids.shape[1]
        memory.keys[:, :, :size].index_copy_(0, slots, state.memory.keys)
        memory.values[:, :, :size].index_copy_(0, slots, state.memory.values)
        memory.mask.index_fill_(0, slots, False)
        memory.mask[:, :size].index_copy_(0, slots, state.memory.mask)
        every = state.hidden.unsqueeze(1).expand(-1, self.width, -1, -1, -1)
        self.hidden.index_copy_(0, slots, every.to(self.hidden.dtype))
        self.fed.index_fill_(0, slots, 0.0)

    def step(self, board: GreedyBoard | BeamBoard) -> Float[Tensor, "R V"]:
        """Feed the words of the board's sentences; the logits of the next."""
        sentences = len(board.places)
        hidden, fed = self.hidden[:sentences], self.fed[:sentences]
        if isinstance(board, BeamBoard):
            parents = board.parents.long()
            hidden = hidden.take_along_dim(parents[:, :, None, None, None], dim=1)
            fed = fed.take_along_dim(parents.unsqueeze(2), dim=1)
        words = self.decoder.token_embedding(board.words.flatten().unsqueeze(1)).squeeze(1)
        look = _Look(self.decoder, self._memory(sentences), sentences)
        hidden, fed = hidden.flatten(0, 1), fed.flatten(0, 1)
        if isinstance(self.decoder, BahdanauDecoder):
            vectors, hidden = _bahdanau(self.decoder, look, words, hidden)
        else:
            vectors, hidden = _luong(self.decoder, look, words, hidden, fed)
            fed = vectors
        self.hidden[:sentences].copy_(hidden.view_as(self.hidden[:sentences]))
        self.fed[:sentences].copy_(fed.view_as(self.fed[:sentences]))
        return self.decoder.output(vectors)

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Sentences change their places."""
        memory = self.memory
        for part in (self.hidden, self.fed, memory.keys, memory.values, memory.mask):
            part[end] = part[start]

    def _memory(self, sentences: int) -> Memory:
        memory = self.memory
        return Memory(memory.keys[:sentences], memory.values[:sentences], memory.mask[:sentences])


@dataclass(frozen=True)
class _Look:
    """One look of every row at its sentence: the rows of a sentence ask together."""

    decoder: Recurrent
    memory: Memory
    sentences: int

    def __call__(self, query: Float[Tensor, "R Q"]) -> Float[Tensor, "R C"]:
        asked = query.unflatten(0, (self.sentences, -1)).split(TOGETHER, dim=1)
        found = [self.decoder.attention(few, self.memory).context for few in asked]
        return torch.cat(found, dim=1).flatten(0, 1) if len(found) > 1 else found[0].flatten(0, 1)


def _bahdanau(
    decoder: BahdanauDecoder, look: _Look, words: Tensor, hidden: Tensor
) -> tuple[Tensor, Tensor]:
    """ForcedDecoding, then step."""
    inputs = torch.cat([words, look(hidden[:, 0, -1])], dim=-1)
    told, hidden = advance(decoder.recurrence.rnn, inputs, hidden)
    pairs = decoder.readout(torch.cat([told, inputs], dim=-1)).unflatten(-1, (-1, 2))
    return pairs.amax(dim=-1), hidden


def _luong(
    decoder: LuongDecoder, look: _Look, words: Tensor, hidden: Tensor, fed: Tensor
) -> tuple[Tensor, Tensor]:
    """Step, then look."""
    inputs = torch.cat([words, fed], dim=-1) if decoder.input_feeding else words
    asked, hidden = advance(decoder.recurrence.rnn, inputs, hidden)
    return torch.tanh(decoder.combine(torch.cat([look(asked), asked], dim=-1))), hidden


def advance(
    rnn: nn.RNNBase, inputs: Float[Tensor, "R I"], hidden: Float[Tensor, "R P L D"]
) -> tuple[Float[Tensor, "R D"], Float[Tensor, "R P L D"]]:
    """All layers by one word: the top layer's output, and the state after."""
    after = []
    for layer in range(rnn.num_layers):
        weights = [getattr(rnn, f"{name}_l{layer}") for name in WEIGHTS]
        before = hidden[:, :, layer]
        parts: tuple[Tensor, ...]
        if isinstance(rnn, nn.LSTM):
            parts = torch.lstm_cell(inputs, (before[:, 0], before[:, 1]), *weights)
        elif isinstance(rnn, nn.GRU):
            parts = (torch.gru_cell(inputs, before[:, 0], *weights),)
        else:
            parts = (torch.rnn_tanh_cell(inputs, before[:, 0], *weights),)
        inputs = parts[0]
        after.append(torch.stack(parts, dim=1))
    return inputs, torch.stack(after, dim=2)


WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _room_for(decoder: Recurrent, width: int, sentences: int, room: int, like: Tensor) -> Memory:
    """An empty memory, as wide as the attention makes one: found by letting it remember."""
    nothing: Bool[Tensor, "1 1"] = torch.ones(1, 1, dtype=torch.bool, device=like.device)
    with torch.inference_mode():
        one = decoder.attention.remember(like.new_zeros(1, 1, width), nothing)
    keys, values = (
        part.new_zeros(sentences, part.shape[1], room, part.shape[3])
        for part in (one.keys, one.values)
    )
    return Memory(keys, values, nothing.new_zeros(sentences, room))
