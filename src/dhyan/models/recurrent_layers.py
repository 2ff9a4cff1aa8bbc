"""Recurrent layers whose whole state is one tensor, and the bridge that starts them."""

from math import prod
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.models.fused_rnn import runs, unrolled

Cell = Literal["lstm", "gru", "rnn"]
CELLS: dict[str, type[nn.LSTM] | type[nn.GRU] | type[nn.RNN]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "rnn": nn.RNN,
}
PARTS = {"lstm": 2, "gru": 1, "rnn": 1}


class Recurrence(nn.Module):
    """A stack of LSTM, GRU or plain layers; an LSTM's state has two parts (h, c), others one."""

    def __init__(
        self, cell: Cell, inputs: int, width: int, layers: int, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.rnn = CELLS[cell](inputs, width, layers, batch_first=True, dropout=between)
        self.shape = (PARTS[cell], layers, width)

    def forward(
        self, inputs: Float[Tensor, "B T I"], state: Float[Tensor, "B P L D"]
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B P L D"]]:
        """Take the inputs one after the other; the top layer's outputs, and the state after."""
        if inputs.shape[1] > 1 and runs(self.rnn, inputs):
            return unrolled(self.rnn, inputs, state)
        kind = next(self.rnn.parameters()).dtype
        parts = [part.transpose(0, 1).contiguous() for part in state.to(kind).unbind(dim=1)]
        with in_full(inputs):
            outputs, last = self.rnn(inputs.to(kind), tuple(parts) if len(parts) > 1 else parts[0])
        return outputs, gathered(last)


def in_full(inputs: Tensor) -> torch.autocast:
    """The weights' own precision inside: under bf16 autocast a GPU's RNN would run in fp16."""
    return torch.autocast(inputs.device.type, enabled=False)


def gathered(
    last: Float[Tensor, "L B D"] | tuple[Float[Tensor, "L B D"], ...],
) -> Float[Tensor, "B P L D"]:
    """PyTorch's final state, (h, c) or h, as one tensor with the rows first."""
    parts = last if isinstance(last, tuple) else (last,)
    return torch.stack(parts).permute(2, 0, 1, 3)


Shape = tuple[int, int, int]
"""A recurrent state's parts, layers and width."""


class LearnedBridge(nn.Module):
    """The first decoder state is tanh(W summary): fits any encoder to any decoder."""

    def __init__(self, summary: Shape, state: Shape) -> None:
        super().__init__()
        self.state = state
        self.map = nn.Linear(prod(summary), prod(state))

    def forward(self, summary: Float[Tensor, "B K"]) -> Float[Tensor, "B P L D"]:
        """A state for every layer."""
        return torch.tanh(self.map(summary)).unflatten(-1, self.state)


class DirectBridge(nn.Module):
    """The decoder goes on from the very state in which the encoder stopped (Sutskever et al.)."""

    def __init__(self, summary: Shape, state: Shape) -> None:
        super().__init__()
        if summary != state:
            found, wanted = (" × ".join(map(str, shape)) for shape in (summary, state))
            raise ValueError(
                f"a direct bridge needs equal states (parts × layers × width): the encoder ends in "
                f"{found}, the decoder begins in {wanted}; use bridge = 'learned'"
            )
        self.state = state

    def forward(self, summary: Float[Tensor, "B K"]) -> Float[Tensor, "B P L D"]:
        """The encoder's own state for every layer."""
        return summary.unflatten(-1, self.state)
