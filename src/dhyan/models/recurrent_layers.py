"""Recurrent layers (LSTM, GRU, Elman) with one state tensor; the bridge from encoder to decoder."""

from math import prod
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.kernels.ops import rnn

Cell = Literal["lstm", "gru", "rnn"]
CELLS: dict[str, type[nn.LSTM] | type[nn.GRU] | type[nn.RNN]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "rnn": nn.RNN,
}
STATE_PARTS = {"lstm": 2, "gru": 1, "rnn": 1}


class Recurrence(nn.Module):
    """A stack of LSTM, GRU or Elman layers; an LSTM's state has two parts (h, c), others one."""

    def __init__(
        self, cell: Cell, inputs: int, width: int, layers: int, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        dropout = dropout if layers > 1 else 0.0  # between layers
        self.rnn = CELLS[cell](inputs, width, layers, batch_first=True, dropout=dropout)
        self.state_shape = (STATE_PARTS[cell], layers, width)

    def forward(
        self, inputs: Float[Tensor, "B T I"], state: Float[Tensor, "B P L D"]
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B P L D"]]:
        """The top layer's output for each input, and the state after the last."""
        return rnn(self.rnn, inputs, state)


StateShape = tuple[int, int, int]
"""A recurrent state's parts, layers and width."""


class LearnedBridge(nn.Module):
    """The first decoder state is tanh(W summary) (Bahdanau et al., 2015, appendix A.2.2).

    It fits any encoder to any decoder.
    """

    def __init__(self, summary: StateShape, state: StateShape) -> None:
        super().__init__()
        self.state_shape = state
        self.map = nn.Linear(prod(summary), prod(state))

    def forward(self, summary: Float[Tensor, "B K"]) -> Float[Tensor, "B P L D"]:
        """A state for every layer."""
        return torch.tanh(self.map(summary)).unflatten(-1, self.state_shape)


class DirectBridge(nn.Module):
    """The first decoder state is the encoder's final state (Sutskever et al., 2014).

    A layer may become two of half its width, as both directions of a bidirectional encoder do.
    """

    def __init__(self, summary: StateShape, state: StateShape) -> None:
        super().__init__()
        parts, layers, width = summary
        if state not in (summary, (parts, 2 * layers, width / 2)):
            ends, begins = (" × ".join(map(str, shape)) for shape in (summary, state))
            raise ValueError(
                f"a direct bridge needs equal states (parts × layers × width): the encoder ends in "
                f"{ends}, the decoder begins in {begins}; use bridge = 'learned'"
            )
        self.state_shape = state

    def forward(self, summary: Float[Tensor, "B K"]) -> Float[Tensor, "B P L D"]:
        """The encoder's own state for every layer."""
        return summary.unflatten(-1, self.state_shape)
