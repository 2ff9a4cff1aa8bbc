"""The recurrent encoder-decoder: look, then step (Bahdanau), or step, then look (Luong)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dhyan.attention import Attention, Memory, the_first, the_last
from dhyan.batch import Tokens, turned
from dhyan.models.embedding import Words, maxout, output_layer
from dhyan.models.fused_decoder import look_then_step, looped, step_then_look
from dhyan.models.fused_rnn import runs, unrolled
from dhyan.models.interface import AttentionLayer, Encoded
from dhyan.models.recurrent_layers import (
    CELLS,
    PARTS,
    Cell,
    DirectBridge,
    LearnedBridge,
    Recurrence,
    gathered,
    in_full,
)

Bridge = LearnedBridge | DirectBridge


class RNNEncoder(nn.Module):
    """Reads token by token with the same weights; the last state of every layer is the summary.

    `width` is that of one direction; read in both, each state knows the words on both its sides.
    Read backwards (Sutskever et al., 2014), the first word is the one read last.
    """

    def __init__(
        self,
        words: Words,
        *,
        width: int,
        layers: int = 1,
        cell: Cell = "gru",
        bidirectional: bool = False,
        backwards: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.backwards = backwards
        self.width = 2 * width if bidirectional else width
        self.summary_shape = (PARTS[cell], layers, self.width)
        self.longest = None
        self.last = the_first if backwards else the_last
        self.words = words
        self.dropout = nn.Dropout(dropout)
        self.rnn = CELLS[cell](
            words.embedding_dim,
            width,
            layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if layers > 1 else 0.0,
        )

    def forward(self, source: Tokens) -> Encoded:
        """One state per token, in the order of the sentence however it was read."""
        if runs(self.rnn, source.ids):
            return self._unrolled(source)
        read = source.backwards() if self.backwards else source
        embedded = self.dropout(self.words(read.ids)).to(next(self.rnn.parameters()).dtype)
        packed = pack_padded_sequence(
            embedded, source.lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        with in_full(embedded):
            outputs, last = self.rnn(packed)
        states, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.ids.shape[1])
        if self.backwards:
            states = states.take_along_dim(turned(source.mask).unsqueeze(-1), dim=1)
        return Encoded(states, gathered(last).flatten(1), source)

    def attentions(self) -> list[AttentionLayer]:
        """None: the encoder is recurrent."""
        return []

    def _unrolled(self, source: Tokens) -> Encoded:
        """The same by the kernels, which read backwards by themselves and know where rows end."""
        embedded = self.dropout(self.words(source.ids))
        states, last = unrolled(self.rnn, embedded, lengths=source.lengths, flipped=self.backwards)
        return Encoded(states, last.flatten(1), source)


@dataclass(frozen=True)
class BahdanauState:
    """The recurrent state, and the sentence being translated."""

    hidden: Float[Tensor, "B P L D"]
    memory: Memory

    def select(self, rows: Int[Tensor, " R"]) -> "BahdanauState":
        """The state of other rows."""
        return BahdanauState(self.hidden[rows], self.memory.select(rows))


class BahdanauDecoder(nn.Module):
    """Look, then step (Bahdanau, Cho and Bengio, 2015).

    c_i = attention(s_{i-1}); s_i = f(s_{i-1}, y_{i-1}, c_i); the word is read off s_i, y_{i-1}
    and c_i through a maxout layer.
    """

    def __init__(
        self,
        words: Words,
        attention: Attention,
        bridge: Bridge,
        *,
        width: int,
        context_width: int,
        readout: int,
        layers: int = 1,
        cell: Cell = "gru",
        dropout: float = 0.0,
        tied: bool = False,
    ) -> None:
        super().__init__()
        self.longest = None
        self.attention = attention
        self.bridge = bridge
        self.words = words
        self.width = readout
        told = words.embedding_dim + context_width
        self.recurrence = Recurrence(cell, told, width, layers, dropout=dropout)
        self.readout = nn.Linear(width + told, 2 * readout)
        self.dropout = nn.Dropout(dropout)
        self.output = output_layer(readout, words, tied=tied)

    def attentions(self) -> list[AttentionLayer]:
        """The single attention to the source."""
        return [AttentionLayer("attention", "cross", 1, self.attention)]

    def start(self, encoded: Encoded) -> BahdanauState:
        """The first state comes from the whole sentence."""
        memory = self.attention.remember(encoded.states, encoded.mask)
        return BahdanauState(self.bridge(encoded.summary), memory)

    def forward(
        self, ids: Int[Tensor, "B T"], state: BahdanauState
    ) -> tuple[Float[Tensor, "B T V"], BahdanauState]:
        """The logits of the word after each id."""
        vectors, state = self.think(ids, state)
        return self.output(vectors), state

    def think(
        self, ids: Int[Tensor, "B T"], state: BahdanauState
    ) -> tuple[Float[Tensor, "B T R"], BahdanauState]:
        """Step by step, since each look needs the step before; what to say is read off at once."""
        known, state = self._steps(self.dropout(self.words(ids)), state)
        return self.dropout(maxout(self.readout(known))), state

    def _steps(
        self, words: Float[Tensor, "B T W"], state: BahdanauState
    ) -> tuple[Float[Tensor, "B T K"], BahdanauState]:
        """What is known after each step: its state, its word and its context."""
        if looped(self.attention, self.recurrence, state.memory, words):
            known, hidden = look_then_step(
                self.recurrence, self.attention, words, state.hidden, state.memory
            )
            return known, BahdanauState(hidden, state.memory.after(words.shape[1]))
        steps = []
        for word in words.split(1, dim=1):
            attended = self.attention(state.hidden[:, 0, -1:], state.memory)
            inputs = torch.cat([word, attended.context], dim=-1)
            told, hidden = self.recurrence(inputs, state.hidden)
            steps.append(torch.cat([told, inputs], dim=-1))
            state = BahdanauState(hidden, attended.memory)
        return torch.cat(steps, dim=1), state


@dataclass(frozen=True)
class LuongState:
    """The recurrent state, the last attentional vector, and the sentence being translated."""

    hidden: Float[Tensor, "B P L D"]
    fed: Float[Tensor, "B 1 D"]
    memory: Memory

    def select(self, rows: Int[Tensor, " R"]) -> "LuongState":
        """The state of other rows."""
        return LuongState(self.hidden[rows], self.fed[rows], self.memory.select(rows))


class LuongDecoder(nn.Module):
    """Step, then look (Luong, Pham and Manning, 2015).

    s_i = f(s_{i-1}, y_{i-1}); c_i = attention(s_i); the word is read off s̃_i = tanh(W [c_i; s_i]).
    With input feeding, s̃_{i-1} joins y_{i-1}, so the decoder knows where it looked before;
    without, all steps run in one call.
    """

    def __init__(
        self,
        words: Words,
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
        self.longest = None
        self.attention = attention
        self.bridge = bridge
        self.width = width
        self.input_feeding = input_feeding
        self.words = words
        inputs = words.embedding_dim + (width if input_feeding else 0)
        self.recurrence = Recurrence(cell, inputs, width, layers, dropout=dropout)
        self.combine = nn.Linear(context_width + width, width)
        self.dropout = nn.Dropout(dropout)
        self.output = output_layer(width, words, tied=tied)

    def attentions(self) -> list[AttentionLayer]:
        """The single attention to the source."""
        return [AttentionLayer("attention", "cross", 1, self.attention)]

    def start(self, encoded: Encoded) -> LuongState:
        """The first state comes from the whole sentence; nothing has been fed yet."""
        memory = self.attention.remember(encoded.states, encoded.mask)
        nothing = encoded.states.new_zeros(len(encoded.states), 1, self.width)
        return LuongState(self.bridge(encoded.summary), nothing, memory)

    def forward(
        self, ids: Int[Tensor, "B T"], state: LuongState
    ) -> tuple[Float[Tensor, "B T V"], LuongState]:
        """The logits of the word after each id."""
        vectors, state = self.think(ids, state)
        return self.output(vectors), state

    def think(
        self, ids: Int[Tensor, "B T"], state: LuongState
    ) -> tuple[Float[Tensor, "B T D"], LuongState]:
        """Step by step if each step is fed the last, else all at once."""
        embedded, memory = self.dropout(self.words(ids)), state.memory
        if self.input_feeding and looped(self.attention, self.recurrence, memory, embedded):
            vectors, hidden = step_then_look(
                self.recurrence,
                self.attention,
                self.combine,
                embedded,
                hidden=state.hidden,
                fed=state.fed,
                memory=memory,
            )
            state = LuongState(hidden, vectors[:, -1:], memory.after(ids.shape[1]))
            return self.dropout(vectors), state
        told = []
        for words in embedded.split(1 if self.input_feeding else ids.shape[1], dim=1):
            state, attentional = self._step(words, state)
            told.append(attentional)
        return self.dropout(torch.cat(told, dim=1)), state

    def _step(
        self, words: Float[Tensor, "B T W"], state: LuongState
    ) -> tuple[LuongState, Float[Tensor, "B T D"]]:
        inputs = torch.cat([words, state.fed], dim=-1) if self.input_feeding else words
        asked, hidden = self.recurrence(inputs, state.hidden)
        attended = self.attention(asked, state.memory)
        attentional = torch.tanh(self.combine(torch.cat([attended.context, asked], dim=-1)))
        return LuongState(hidden, attentional[:, -1:], attended.memory), attentional
