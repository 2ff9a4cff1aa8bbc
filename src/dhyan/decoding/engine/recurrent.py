"""Recurrent decoders step by step: a state of fixed size, the source shared by its rows."""

from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dhyan.attention import (
    AdditiveScore,
    Attended,
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
        attentional = decoder.width if isinstance(decoder, LuongDecoder) else 0
        self.attentional = weight.new_zeros(sentences, width, attentional)
        self.memory = _room_for(decoder, model.encoder.width, sentences, room, weight)

    def load(self, source: Tokens, slots: Int[Tensor, " B"]) -> None:
        """Read sentences and remember them at these places, with no token decoded yet."""
        state, memory = self.model.start(source), self.memory
        assert isinstance(state, BahdanauState | LuongState)
        size = source.ids.shape[1]
        memory.keys[:, :, :size].index_copy_(0, slots, state.memory.keys)
        memory.values[:, :, :size].index_copy_(0, slots, state.memory.values)
        memory.mask.index_fill_(0, slots, False)
        memory.mask[:, :size].index_copy_(0, slots, state.memory.mask)
        every = state.hidden.unsqueeze(1).expand(-1, self.width, -1, -1, -1)
        self.hidden.index_copy_(0, slots, every.to(self.hidden.dtype))
        self.attentional.index_fill_(0, slots, 0.0)

    def step(self, board: GreedyBoard | BeamBoard) -> Float[Tensor, "R V"]:
        """Feed the words of the board's sentences; the logits of the next."""
        sentences = len(board.places)
        hidden, attentional = self.hidden[:sentences], self.attentional[:sentences]
        if isinstance(board, BeamBoard):
            parents = board.parents.long()
            hidden = hidden.take_along_dim(parents[:, :, None, None, None], dim=1)
            attentional = attentional.take_along_dim(parents.unsqueeze(2), dim=1)
        embedded = self.decoder.token_embedding(board.words.flatten().unsqueeze(1))
        hidden, attentional = hidden.flatten(0, 1), attentional.flatten(0, 1).unsqueeze(1)
        memory, attend = self._memory(sentences), partial(attend_by_sentence, self.decoder)
        recur = partial(rnn_step, self.decoder.recurrence.rnn)
        if isinstance(self.decoder, BahdanauDecoder):
            features, hidden, _ = self.decoder.cell(
                embedded, hidden, memory, attention=attend, recurrence=recur
            )
            vectors = self.decoder.read_out(features)
        else:
            vectors, hidden, attentional, _ = self.decoder.cell(
                embedded, hidden, attentional, memory, attention=attend, recurrence=recur
            )
        self.hidden[:sentences].copy_(hidden.view_as(self.hidden[:sentences]))
        self.attentional[:sentences].copy_(attentional.view_as(self.attentional[:sentences]))
        return self.decoder.output(vectors.squeeze(1))

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Sentences change their places."""
        memory = self.memory
        for part in (self.hidden, self.attentional, memory.keys, memory.values, memory.mask):
            part[end] = part[start]

    def _memory(self, sentences: int) -> Memory:
        memory = self.memory
        return Memory(memory.keys[:sentences], memory.values[:sentences], memory.mask[:sentences])


def attend_by_sentence(
    decoder: Recurrent, query: Float[Tensor, "R 1 Q"], memory: Memory
) -> Attended:
    """The decoder's attention, with a memory that the rows of a sentence share."""
    by_sentence = query.squeeze(1).unflatten(0, (len(memory.mask), -1))
    groups = by_sentence.split(TOGETHER, dim=1)
    contexts = [decoder.attention(group, memory).context for group in groups]
    context = torch.cat(contexts, dim=1) if len(contexts) > 1 else contexts[0]
    return Attended(context.flatten(0, 1).unsqueeze(1), None, memory)


def rnn_step(
    rnn: nn.RNNBase, inputs: Float[Tensor, "R 1 I"], hidden: Float[Tensor, "R P L D"]
) -> tuple[Float[Tensor, "R 1 D"], Float[Tensor, "R P L D"]]:
    """All layers for one token: the top layer's output, and the state after."""
    output, after = inputs.squeeze(1), []
    for layer in range(rnn.num_layers):
        weights = [getattr(rnn, f"{name}_l{layer}") for name in WEIGHTS]
        before = hidden[:, :, layer]
        parts: tuple[Tensor, ...]
        if isinstance(rnn, nn.LSTM):
            parts = torch.lstm_cell(output, (before[:, 0], before[:, 1]), *weights)
        elif isinstance(rnn, nn.GRU):
            parts = (torch.gru_cell(output, before[:, 0], *weights),)
        else:
            parts = (torch.rnn_tanh_cell(output, before[:, 0], *weights),)
        output = parts[0]
        after.append(torch.stack(parts, dim=1))
    return output.unsqueeze(1), torch.stack(after, dim=2)


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
