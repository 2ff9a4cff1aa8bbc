"""Recurrent encoder-decoders after Sutskever et al. (2014), Bahdanau (2015) and Luong (2015)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.attention import Attended, Attention, Memory, first_position, last_position
from dhyan.batch import Source
from dhyan.kernels.ops import bahdanau_decoder, luong_decoder, maxout, padded_rnn
from dhyan.models.embedding import TokenEmbedding, output_layer
from dhyan.models.interface import AttentionLayer, Encoded
from dhyan.models.recurrent_layers import (
    CELLS,
    STATE_PARTS,
    Cell,
    DirectBridge,
    LearnedBridge,
    Recurrence,
)
from dhyan.models.stems import SourceEmbedding

Bridge = LearnedBridge | DirectBridge
Attend = Callable[[Tensor, Memory], Attended]
Recur = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class RNNEncoder(nn.Module):
    """LSTM, GRU or Elman layers over the tokens; the final state of every layer is the summary.

    `width` is that of one direction; in a bidirectional encoder (Schuster and Paliwal, 1997) each
    state has read the words on both its sides. With `reverse` (Sutskever et al., 2014), the first
    word is the one read last; `final_state_mask` selects the state that was computed last.
    """

    def __init__(
        self,
        token_embedding: SourceEmbedding,
        *,
        width: int,
        layers: int = 1,
        cell: Cell = "gru",
        bidirectional: bool = False,
        reverse: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.reverse = reverse
        self.width = 2 * width if bidirectional else width
        self.summary_shape = (STATE_PARTS[cell], layers, self.width)
        self.max_length = None
        self.final_state_mask = first_position if reverse else last_position
        self.token_embedding = token_embedding
        self.dropout = nn.Dropout(dropout)
        self.rnn = CELLS[cell](
            token_embedding.embedding_dim,
            width,
            layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if layers > 1 else 0.0,
        )

    def forward(self, source: Source) -> Encoded:
        """One state per token, in the order of the sentence in whichever order it was read."""
        embedded = self.dropout(self.token_embedding(source.inputs))
        states, last = padded_rnn(self.rnn, embedded, source.mask, reverse=self.reverse)
        return Encoded(states, last.flatten(1), source)

    def attentions(self) -> list[AttentionLayer]:
        """None: the encoder is recurrent."""
        return []


@dataclass(frozen=True)
class RNNState:
    """The recurrent state s_i of every layer: all that the decoder knows of the source."""

    hidden: Float[Tensor, "B P L D"]

    def select(self, rows: Int[Tensor, " R"]) -> "RNNState":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        return RNNState(self.hidden[rows])


class RNNDecoder(nn.Module):
    """Recurrent steps without attention (Sutskever, Vinyals and Le, 2014).

    s_0 comes from the encoder's last state; s_i = f(s_{i-1}, y_{i-1}); the logits are computed from
    s_i. Nothing else of the source is read, so all tokens run in one call.
    """

    def __init__(
        self,
        token_embedding: TokenEmbedding,
        bridge: Bridge,
        *,
        width: int,
        layers: int = 1,
        cell: Cell = "lstm",
        dropout: float = 0.0,
        tied: bool = False,
    ) -> None:
        super().__init__()
        self.max_length = None
        self.bridge = bridge
        self.width = width
        self.token_embedding = token_embedding
        inputs = token_embedding.embedding_dim
        self.recurrence = Recurrence(cell, inputs, width, layers, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.output = output_layer(width, token_embedding, tied=tied)

    def attentions(self) -> list[AttentionLayer]:
        """None: the source is in the first state alone."""
        return []

    def start(self, encoded: Encoded) -> RNNState:
        """The first state comes from the summary of the sentence."""
        return RNNState(self.bridge(encoded.summary))

    def forward(
        self, token_ids: Int[Tensor, "B T"], state: RNNState
    ) -> tuple[Float[Tensor, "B T V"], RNNState]:
        """The logits of the token after each of these."""
        hidden, state = self.hidden(token_ids, state)
        return self.output(hidden), state

    def hidden(
        self, token_ids: Int[Tensor, "B T"], state: RNNState
    ) -> tuple[Float[Tensor, "B T D"], RNNState]:
        """The top layer's outputs, all at once."""
        embedded = self.dropout(self.token_embedding(token_ids))
        output, hidden = self.recurrence(embedded, state.hidden)
        return self.dropout(output), RNNState(hidden)


@dataclass(frozen=True)
class BahdanauState:
    """The recurrent state s_i of every layer, and the memory of the source."""

    hidden: Float[Tensor, "B P L D"]
    memory: Memory

    def select(self, rows: Int[Tensor, " R"]) -> "BahdanauState":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        return BahdanauState(self.hidden[rows], self.memory.select(rows))


class BahdanauDecoder(nn.Module):
    """Attention from the previous state, then a recurrent step (Bahdanau, Cho and Bengio, 2015).

    c_i = attention(s_{i-1}); s_i = f(s_{i-1}, y_{i-1}, c_i); the logits are computed from s_i,
    y_{i-1} and c_i through a maxout layer of `readout_width`. That is equation 4 of the paper,
    g(y_{i-1}, s_i, c_i); its appendix A.2.2 has s_{i-1} there instead. Of several layers the top one
    attends, or with `query_sum` the sum of their states.
    """

    def __init__(
        self,
        token_embedding: TokenEmbedding,
        attention: Attention,
        bridge: Bridge,
        *,
        width: int,
        context_width: int,
        readout_width: int,
        layers: int = 1,
        cell: Cell = "gru",
        query_sum: bool = False,
        dropout: float = 0.0,
        tied: bool = False,
    ) -> None:
        super().__init__()
        self.max_length = None
        self.query_sum = query_sum
        self.attention = attention
        self.bridge = bridge
        self.token_embedding = token_embedding
        self.width = readout_width
        inputs = token_embedding.embedding_dim + context_width
        self.recurrence = Recurrence(cell, inputs, width, layers, dropout=dropout)
        self.readout = nn.Linear(width + inputs, 2 * readout_width)
        self.dropout = nn.Dropout(dropout)
        self.output = output_layer(readout_width, token_embedding, tied=tied)

    def attentions(self) -> list[AttentionLayer]:
        """The single attention to the source."""
        return [AttentionLayer("attention", "cross", 1, self.attention)]

    def start(self, encoded: Encoded) -> BahdanauState:
        """The first state comes from the summary of the sentence."""
        memory = self.attention.remember(encoded.states, encoded.mask)
        return BahdanauState(self.bridge(encoded.summary), memory)

    def forward(
        self, token_ids: Int[Tensor, "B T"], state: BahdanauState
    ) -> tuple[Float[Tensor, "B T V"], BahdanauState]:
        """The logits of the token after each of these."""
        hidden, state = self.hidden(token_ids, state)
        return self.output(hidden), state

    def hidden(
        self, token_ids: Int[Tensor, "B T"], state: BahdanauState
    ) -> tuple[Float[Tensor, "B T R"], BahdanauState]:
        """Step by step, since each context needs the state before it; the readout all at once."""
        features, hidden, memory = bahdanau_decoder(
            self.step,
            self.dropout(self.token_embedding(token_ids)),
            state.hidden,
            state.memory,
            layers=self.recurrence.rnn,
            operands=None if self.query_sum else self.attention.operands(state.memory),
        )
        return self.dropout(self.maxout_readout(features)), BahdanauState(hidden, memory)

    def step(
        self,
        embedded: Float[Tensor, "B 1 W"],
        hidden: Float[Tensor, "B P L D"],
        memory: Memory,
        *,
        attention: Attend | None = None,
        recurrence: Recur | None = None,
    ) -> tuple[Float[Tensor, "B 1 K"], Float[Tensor, "B P L D"], Memory]:
        """One step: [s_i; y_{i-1}; c_i], the state s_i, and the memory for the next step.

        A batched search passes its own implementations of the attention and the recurrence, which
        compute the same but keep the source once for all hypotheses of a sentence.
        """
        outputs = hidden[:, 0]  # h of every layer, without an LSTM's cell state
        query = outputs.sum(dim=1, keepdim=True) if self.query_sum else outputs[:, -1:]
        context, _, memory = (attention or self.attention)(query, memory)
        inputs = torch.cat([embedded, context], dim=-1)
        output, hidden = (recurrence or self.recurrence)(inputs, hidden)
        return torch.cat([output, inputs], dim=-1), hidden, memory

    def maxout_readout(self, features: Float[Tensor, "*B K"]) -> Float[Tensor, "*B R"]:
        """The maxout layer (Goodfellow et al., 2013) before the output layer."""
        return maxout(self.readout(features))


@dataclass(frozen=True)
class LuongState:
    """The recurrent state s, the last attentional vector s̃, and the memory of the source."""

    hidden: Float[Tensor, "B P L D"]
    attentional: Float[Tensor, "B 1 D"]
    memory: Memory

    def select(self, rows: Int[Tensor, " R"]) -> "LuongState":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        return LuongState(self.hidden[rows], self.attentional[rows], self.memory.select(rows))


class LuongDecoder(nn.Module):
    """A recurrent step, then attention from the current state (Luong, Pham and Manning, 2015).

    s_i = f(s_{i-1}, y_{i-1}); c_i = attention(s_i); the logits are computed from
    s̃_i = tanh(W [c_i; s_i]). The paper writes h_t for s_i and h̃_t for s̃_i; the letters here are
    those of the Bahdanau decoder. With input feeding, s̃_{i-1} is concatenated to y_{i-1}, so that
    the decoder knows its earlier alignments; without, all steps run in one call.
    """

    def __init__(
        self,
        token_embedding: TokenEmbedding,
        attention: Attention,
        bridge: Bridge,
        *,
        width: int,
        context_width: int,
        layers: int = 1,
        cell: Cell = "lstm",
        input_feeding: bool = True,
        dropout: float = 0.0,
        tied: bool = False,
    ) -> None:
        super().__init__()
        self.max_length = None
        self.attention = attention
        self.bridge = bridge
        self.width = width
        self.input_feeding = input_feeding
        self.token_embedding = token_embedding
        inputs = token_embedding.embedding_dim + (width if input_feeding else 0)
        self.recurrence = Recurrence(cell, inputs, width, layers, dropout=dropout)
        self.combine = nn.Linear(context_width + width, width)
        self.dropout = nn.Dropout(dropout)
        self.output = output_layer(width, token_embedding, tied=tied)

    def attentions(self) -> list[AttentionLayer]:
        """The single attention to the source."""
        return [AttentionLayer("attention", "cross", 1, self.attention)]

    def start(self, encoded: Encoded) -> LuongState:
        """The first state comes from the summary of the sentence; s̃_0 is zero."""
        memory = self.attention.remember(encoded.states, encoded.mask)
        zeros = encoded.states.new_zeros(len(encoded.states), 1, self.width)
        return LuongState(self.bridge(encoded.summary), zeros, memory)

    def forward(
        self, token_ids: Int[Tensor, "B T"], state: LuongState
    ) -> tuple[Float[Tensor, "B T V"], LuongState]:
        """The logits of the token after each of these."""
        hidden, state = self.hidden(token_ids, state)
        return self.output(hidden), state

    def hidden(
        self, token_ids: Int[Tensor, "B T"], state: LuongState
    ) -> tuple[Float[Tensor, "B T D"], LuongState]:
        """Attentional vectors: step by step with input feeding, else all at once."""
        embedded = self.dropout(self.token_embedding(token_ids))
        before = state.hidden, state.attentional, state.memory
        if self.input_feeding:
            vectors, *after = luong_decoder(
                self.step,
                embedded,
                *before,
                layers=self.recurrence.rnn,
                combine=self.combine,
                operands=self.attention.operands(state.memory),
            )
        else:
            vectors, *after = self.step(embedded, *before)
        return self.dropout(vectors), LuongState(*after)

    def step(
        self,
        embedded: Float[Tensor, "B T W"],
        hidden: Float[Tensor, "B P L D"],
        attentional: Float[Tensor, "B 1 D"],
        memory: Memory,
        *,
        attention: Attend | None = None,
        recurrence: Recur | None = None,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B P L D"], Float[Tensor, "B 1 D"], Memory]:
        """One step, or without input feeding several: s̃ of each, and the state after them.

        A batched search passes its own implementations of the attention and the recurrence, which
        compute the same but keep the source once for all hypotheses of a sentence.
        """
        inputs = torch.cat([embedded, attentional], dim=-1) if self.input_feeding else embedded
        output, hidden = (recurrence or self.recurrence)(inputs, hidden)
        context, _, memory = (attention or self.attention)(output, memory)
        vectors = torch.tanh(self.combine(torch.cat([context, output], dim=-1)))
        return vectors, hidden, vectors[:, -1:], memory
