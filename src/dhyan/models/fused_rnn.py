"""Recurrent layers by the kernels: a GPU needs no packing, and nothing from the CPU."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from dhyan.kernels.backend import triton_runs

KINDS = (torch.float32, torch.bfloat16, torch.float16)
CELLS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn"}


def runs(rnn: nn.RNNBase, inputs: Tensor) -> bool:
    """Whether the kernels can take these layers and inputs."""
    return triton_runs(inputs) and rnn.mode in CELLS and own_kind(rnn) in KINDS


def own_kind(rnn: nn.RNNBase) -> torch.dtype:
    """The precision of the weights."""
    return next(rnn.parameters()).dtype


def working_kind(rnn: nn.RNNBase, inputs: Tensor) -> torch.dtype:
    """The precision of products: that of autocast where it is on, else the weights' own."""
    device = inputs.device.type
    if torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return own_kind(rnn)


class Blocks(NamedTuple):
    """A layer's weights in the blocks the kernels know: see `kernels.cells`."""

    inputs: Float[Tensor, "N G I"]
    state: Float[Tensor, "N G D"]
    bias: Float[Tensor, "N G"]

    @classmethod
    def of(cls, rnn: nn.RNNBase, layer: int, kind: torch.dtype) -> "Blocks":
        """Those of a layer, its directions one after the other."""
        ends = [f"_l{layer}", f"_l{layer}_reverse"][: 1 + rnn.bidirectional]
        sides = [_blocks([getattr(rnn, name + end) for name in _NAMES], kind) for end in ends]
        return cls(*(_stacked(parts) for parts in zip(*sides, strict=True)))


_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _blocks(weights: Sequence[Tensor], kind: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """One direction's: a GRU's n = tanh(W x + b + r (U h + c)) takes two blocks, one for each."""
    inputs, state, width = weights[0].to(kind), weights[1].to(kind), weights[1].shape[1]
    of_inputs, of_state = weights[2:]
    if len(state) != 3 * width:
        return inputs, state, (of_inputs + of_state).to(kind)
    both = 2 * width
    bias = torch.cat([of_inputs[:both] + of_state[:both], of_inputs[both:], of_state[both:]])
    inputs = torch.cat([inputs, inputs.new_zeros(width, inputs.shape[1])])
    state = torch.cat([state[:both], state.new_zeros(width, width), state[both:]])
    return inputs, state, bias.to(kind)


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(parts)) if len(parts) > 1 else parts[0].unsqueeze(0)


def unrolled(
    rnn: nn.RNNBase,
    inputs: Float[Tensor, "B T I"],
    state: Float[Tensor, "B P L D"] | None = None,
    *,
    lengths: Int[Tensor, " B"] | None = None,
    flipped: bool = False,
) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B P _ D"]]:
    """Every layer over all places: the last one's outputs, and the state after.

    Rows with lengths begin at zero, and each ends at its own; `flipped`, they are read from there.
    """
    from dhyan.kernels.triton.recurrent.rnn_layer import Layer

    kind, cell, outputs, ends = working_kind(rnn, inputs), CELLS[rnn.mode], inputs, []
    with torch.autocast(inputs.device.type, enabled=False):
        for layer in range(rnn.num_layers):
            if layer:
                outputs = functional.dropout(outputs, rnn.dropout, rnn.training)
            weights = Blocks.of(rnn, layer, kind)
            given = functional.linear(
                outputs.to(kind), weights.inputs.flatten(0, 1), weights.bias.flatten()
            ).unflatten(-1, weights.bias.shape)
            first, carry = begun(state, layer, kind)
            shown, *end = Layer.apply(given, weights.state, first, carry, lengths, cell, flipped)
            outputs = shown.flatten(2)
            ends.append(ended(*end, cell=cell, kind=own_kind(rnn)))
    return outputs, torch.cat(ends, dim=2)


def begun(
    state: Float[Tensor, "B P L D"] | None, layer: int, kind: torch.dtype
) -> tuple[Float[Tensor, "B 1 D"] | None, Float[Tensor, "B 1 D"] | None]:
    """A layer's first state as products take it, and what it carries in single precision."""
    if state is None:
        return None, None
    parts = state[:, :, layer].unsqueeze(2)
    return parts[:, 0].to(kind), parts[:, -1].float()


def ended(
    last: Float[Tensor, "B N D"], carry: Float[Tensor, "B N D"], *, cell: str, kind: torch.dtype
) -> Float[Tensor, "B P N D"]:
    """A layer's last state: (h, c) of an LSTM, else what it carried, which is h."""
    parts = (last, carry) if cell == "lstm" else (carry,)
    return torch.stack([part.to(kind) for part in parts], dim=1)
