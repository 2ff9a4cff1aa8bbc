"""Recurrent decoders in the decoding engine: fixed-size state slots, source shared by a beam."""

from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dhyan.attention import (
    AdditiveScore,
    Attended,
    Attention,
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
from dhyan.kernels.search_state import BeamSearchState, GreedySearchState
from dhyan.models.embedding import OneHot
from dhyan.models.rnn import (
    BahdanauDecoder,
    BahdanauState,
    LuongDecoder,
    LuongState,
    RNNDecoder,
    RNNState,
)
from dhyan.models.seq2seq import Seq2Seq

AttentiveDecoder = BahdanauDecoder | LuongDecoder
RecurrentDecoder = RNNDecoder | AttentiveDecoder
SCORES = (AdditiveScore, DotScore, GeneralScore, LocationScore, UniformScore)
MASKS = (all_positions, last_position, first_position)
ROWS_PER_CALL = 4  # of a sentence: few enough for the kernels of single queries
RNN_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def supports_recurrent(decoder: object) -> bool:
    """Whether the attention, if there is one, depends on the decoder state and the source alone."""
    if not isinstance(decoder, RecurrentDecoder) or isinstance(decoder.token_embedding, OneHot):
        return False
    if isinstance(decoder, RNNDecoder):
        return True
    attention = decoder.attention
    if not isinstance(attention, SingleHeadAttention | MultiHeadAttention):
        return False
    known_mask = attention.mask in MASKS or isinstance(attention.mask, PredictedWindow)
    return known_mask and type(attention.score) in SCORES


class RecurrentStepper:
    """Slots for sentences of up to `capacity` tokens, each with `width` rows."""

    def __init__(self, model: Seq2Seq, slots: int, width: int, capacity: int) -> None:
        self.model, self.width = model, width
        decoder = model.decoder
        assert isinstance(decoder, RecurrentDecoder)
        self.decoder: RecurrentDecoder = decoder
        weight = decoder.output.weight
        self.hidden = weight.new_zeros(slots, width, *decoder.recurrence.state_shape)
        attentional = decoder.width if isinstance(decoder, LuongDecoder) else 0
        self.attentional = weight.new_zeros(slots, width, attentional)
        self.memory = _empty_memory(decoder, model.encoder.width, slots, capacity, weight)

    def load(self, source: Tokens, slots: Int[Tensor, " B"]) -> None:
        """Encode sentences into these slots."""
        state, memory = self.model.start(source), self.memory
        assert isinstance(state, RNNState | BahdanauState | LuongState)
        if not isinstance(state, RNNState):
            size = source.ids.shape[1]
            memory.keys[:, :, :size].index_copy_(0, slots, state.memory.keys)
            memory.values[:, :, :size].index_copy_(0, slots, state.memory.values)
            memory.mask.index_fill_(0, slots, False)
            memory.mask[:, :size].index_copy_(0, slots, state.memory.mask)
        every_row = state.hidden.unsqueeze(1).expand(-1, self.width, -1, -1, -1)
        self.hidden.index_copy_(0, slots, every_row.to(self.hidden.dtype))
        self.attentional.index_fill_(0, slots, 0.0)

    def step(self, search: GreedySearchState | BeamSearchState) -> Float[Tensor, "R V"]:
        """Read the tokens of the search by one step of the decoder; the logits of the next ones."""
        slots, decoder = len(search.steps), self.decoder
        hidden, attentional = self.hidden[:slots], self.attentional[:slots]
        if isinstance(search, BeamSearchState):
            parents = search.parents.long()
            hidden = hidden.take_along_dim(parents[:, :, None, None, None], dim=1)
            attentional = attentional.take_along_dim(parents.unsqueeze(2), dim=1)
        embedded = decoder.token_embedding(search.tokens.flatten().unsqueeze(1))
        hidden, attentional = hidden.flatten(0, 1), attentional.flatten(0, 1).unsqueeze(1)
        memory, recurrence = self._memory(slots), partial(rnn_step, decoder.recurrence.rnn)
        match decoder:
            case RNNDecoder():
                vectors, hidden = recurrence(embedded, hidden)
            case BahdanauDecoder():
                attention = partial(attend_by_sentence, decoder.attention)
                features, hidden, _ = decoder.step(
                    embedded, hidden, memory, attention=attention, recurrence=recurrence
                )
                vectors = decoder.maxout_readout(features)
            case LuongDecoder():
                attention = partial(attend_by_sentence, decoder.attention)
                before = embedded, hidden, attentional, memory
                vectors, hidden, attentional, _ = decoder.step(
                    *before, attention=attention, recurrence=recurrence
                )
        self.hidden[:slots].copy_(hidden.view_as(self.hidden[:slots]))
        self.attentional[:slots].copy_(attentional.view_as(self.attentional[:slots]))
        return decoder.output(vectors.squeeze(1))

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Move sentences to other slots."""
        memory = self.memory
        for tensor in (self.hidden, self.attentional, memory.keys, memory.values, memory.mask):
            tensor[end] = tensor[start]

    def _memory(self, slots: int) -> Memory:
        memory = self.memory
        return Memory(memory.keys[:slots], memory.values[:slots], memory.mask[:slots])


def attend_by_sentence(
    attention: Attention, query: Float[Tensor, "R 1 Q"], memory: Memory
) -> Attended:
    """A decoder's attention, with a memory that the rows of a sentence share."""
    queries = query.squeeze(1).unflatten(0, (len(memory.mask), -1)).split(ROWS_PER_CALL, dim=1)
    contexts = [attention(few, memory).context for few in queries]
    context = torch.cat(contexts, dim=1) if len(contexts) > 1 else contexts[0]
    return Attended(context.flatten(0, 1).unsqueeze(1), None, memory)


def rnn_step(
    rnn: nn.RNNBase, inputs: Float[Tensor, "R 1 I"], hidden: Float[Tensor, "R P L D"]
) -> tuple[Float[Tensor, "R 1 D"], Float[Tensor, "R P L D"]]:
    """All layers by one token, by cells that a CUDA graph can capture: output and state."""
    output, states = inputs.squeeze(1), []
    for layer in range(rnn.num_layers):
        weights = [getattr(rnn, f"{name}_l{layer}") for name in RNN_WEIGHTS]
        before = hidden[:, :, layer]
        parts: tuple[Tensor, ...]
        if isinstance(rnn, nn.LSTM):
            parts = torch.lstm_cell(output, (before[:, 0], before[:, 1]), *weights)
        elif isinstance(rnn, nn.GRU):
            parts = (torch.gru_cell(output, before[:, 0], *weights),)
        else:
            parts = (torch.rnn_tanh_cell(output, before[:, 0], *weights),)
        output = parts[0]
        states.append(torch.stack(parts, dim=1))
    return output.unsqueeze(1), torch.stack(states, dim=2)


def _empty_memory(
    decoder: RecurrentDecoder, width: int, slots: int, capacity: int, like: Tensor
) -> Memory:
    """An empty memory as wide as the attention makes one: found by remembering one state."""
    mask: Bool[Tensor, "1 1"] = torch.ones(1, 1, dtype=torch.bool, device=like.device)
    if isinstance(decoder, RNNDecoder):  # no attention: nothing of the source is kept
        nothing = like.new_zeros(slots, 0, 0, 0)
        return Memory(nothing, nothing, mask.new_zeros(slots, 0))
    with torch.inference_mode():
        sample = decoder.attention.remember(like.new_zeros(1, 1, width), mask)
    keys, values = (
        part.new_zeros(slots, part.shape[1], capacity, part.shape[3])
        for part in (sample.keys, sample.values)
    )
    return Memory(keys, values, mask.new_zeros(slots, capacity))
