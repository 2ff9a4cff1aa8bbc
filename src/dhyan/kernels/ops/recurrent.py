"""Recurrent operations for models: RNN layers and attention decoders, by reference or kernel."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from dhyan.kernels import reference
from dhyan.kernels.backend import product_dtype, use_cpu_kernels, use_triton

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
CELLS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn"}
MAX_POSITIONS = 2048  # of a source: the kernel of an attention step holds all their scores at once


def maxout(pairs: Float[Tensor, "*B K"]) -> Float[Tensor, "*B R"]:
    """The larger of every two neighbours (Goodfellow et al., 2013)."""
    if use_triton(pairs):
        from dhyan.kernels.triton.recurrent.bahdanau_decoder import Maxout

        return Maxout.apply(pairs)
    return reference.maxout(pairs)


def rnn(
    layers: nn.RNNBase, inputs: Float[Tensor, "B T I"], state: Float[Tensor, "B P L D"]
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B P L D"]]:
    """LSTM, GRU or Elman layers from a state: the top layer's outputs, and the state after."""
    if inputs.shape[1] > 1 and _rnn_kernel(layers, inputs):
        return _fused_rnn(layers, inputs, state)
    return reference.rnn(layers, inputs, state)


def padded_rnn(
    layers: nn.RNNBase,
    inputs: Float[Tensor, "B S I"],
    mask: Bool[Tensor, "B S"],
    *,
    reverse: bool = False,
) -> tuple[Float[Tensor, "B S E"], Float[Tensor, "B P _ D"]]:
    """The same from zeros over padded rows; with `reverse`, each from its last token to its first.

    The outputs keep the order of the inputs; the state is that after the token read last. The
    kernels need no packing, and nothing from the CPU.
    """
    if _rnn_kernel(layers, inputs):
        return _fused_rnn(layers, inputs, lengths=mask.sum(dim=1), reverse=reverse)
    return reference.padded_rnn(layers, inputs, mask, reverse=reverse)


class AttentionOperands(NamedTuple):
    """What one step of single-head attention multiplies, for the fused decoder loops.

    The query is the decoder's state, by `query_weight` and `query_bias` if there are any. Scores
    are additive with an `energy`, else dot products times `scale`.
    """

    keys: Float[Tensor, "B 1 S A"]
    values: Float[Tensor, "B 1 S C"]
    mask: Bool[Tensor, "B S"]
    query_weight: Float[Tensor, "A D"] | None = None
    query_bias: Float[Tensor, " A"] | None = None
    energy: Float[Tensor, " A"] | None = None
    scale: float = 1.0


@runtime_checkable
class AttentionMemory(Protocol):
    """The memory of an attention, as far as a decoder's loop needs it."""

    def advance(self, queries: int) -> Any:
        """The memory after so many queries."""
        ...


def bahdanau_decoder(
    step: Callable[..., tuple[Any, ...]],
    embedded: Float[Tensor, "B T W"],
    hidden: Float[Tensor, "B P L D"],
    memory: AttentionMemory,
    *,
    layers: nn.RNNBase,
    operands: AttentionOperands | None,
) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B P L D"], Any]:
    """Bahdanau's decoder step over all tokens: [state; token; context] of each, the state, the memory.

    `operands` are those of the decoder's attention, if the kernel knows it.
    """
    if operands is None or not use_loop_kernel(layers, embedded, operands):
        features, hidden, memory = reference.unroll(step, embedded, hidden, memory)
        return features, hidden, memory
    if use_triton(embedded):
        from dhyan.kernels.triton.recurrent.bahdanau_decoder import BahdanauLoop
    else:
        from dhyan.kernels.cpu.recurrent import BahdanauLoop  # type: ignore[assignment]

    loop = _Loop.prepare(layers, embedded)
    with torch.autocast(embedded.device.type, enabled=False):
        states, contexts, *last = BahdanauLoop.apply(
            loop.gates,
            loop.weights.state,
            *_first_state(hidden, 0, loop.dtype),
            loop.step_weight,
            *_attention_arguments(operands, loop.dtype),
            loop.cell,
        )
        features = torch.cat([states.squeeze(2), loop.embedded, contexts], dim=-1)
        return features, loop.last_state(*last), memory.advance(embedded.shape[1])


def luong_decoder(
    step: Callable[..., tuple[Any, ...]],
    embedded: Float[Tensor, "B T W"],
    hidden: Float[Tensor, "B P L D"],
    attentional: Float[Tensor, "B 1 D"],
    memory: AttentionMemory,
    *,
    layers: nn.RNNBase,
    combine: nn.Linear,
    operands: AttentionOperands | None,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B P L D"], Float[Tensor, "B 1 D"], Any]:
    """Luong's decoder step, with input feeding, over all tokens: attentional vectors, and the state.

    `operands` are those of the decoder's attention, if the kernel knows it.
    """
    if operands is None or not use_loop_kernel(layers, embedded, operands):
        vectors, *state = reference.unroll(step, embedded, hidden, attentional, memory)
        return vectors, state[0], state[1], state[2]
    if use_triton(embedded):
        from dhyan.kernels.triton.recurrent.luong_decoder import LuongLoop
    else:
        from dhyan.kernels.cpu.recurrent import LuongLoop  # type: ignore[assignment]

    loop = _Loop.prepare(layers, embedded)
    with torch.autocast(embedded.device.type, enabled=False):
        vectors, *last = LuongLoop.apply(
            loop.gates,
            loop.weights.state,
            *_first_state(hidden, 0, loop.dtype),
            attentional.to(loop.dtype),
            loop.step_weight,
            combine.weight.to(loop.dtype),
            combine.bias.to(loop.dtype),
            *_attention_arguments(operands, loop.dtype),
            loop.cell,
        )
        memory = memory.advance(embedded.shape[1])
        return vectors, loop.last_state(*last), vectors[:, -1:], memory


def _rnn_kernel(layers: nn.RNNBase, inputs: Tensor) -> bool:
    """Whether the kernels can take these layers and inputs."""
    if layers.mode not in CELLS:
        return False
    weight = _weight(layers)
    if use_triton(inputs):
        return weight.dtype in DTYPES
    return (
        weight.dtype == torch.float32 and layers.bias and use_cpu_kernels(layers.training, weight)
    )


def use_loop_kernel(layers: nn.RNNBase, embedded: Tensor, operands: AttentionOperands) -> bool:
    """Whether the kernels can take this decoder, and there are steps enough to prepare them."""
    return (
        embedded.shape[1] > 1
        and layers.num_layers == 1
        and operands.mask.shape[1] <= MAX_POSITIONS
        and _rnn_kernel(layers, embedded)
    )


def _weight(layers: nn.RNNBase) -> Tensor:
    return next(layers.parameters())


class _Weights(NamedTuple):
    """A layer's weights in the gate blocks the kernels know: see `triton.recurrent.rnn_cells`."""

    inputs: Float[Tensor, "N G I"]
    state: Float[Tensor, "N G D"]
    bias: Float[Tensor, "N G"]

    @classmethod
    def of(cls, layers: nn.RNNBase, layer: int, dtype: torch.dtype) -> "_Weights":
        """Those of a layer, its directions one after the other."""
        suffixes = [f"_l{layer}", f"_l{layer}_reverse"][: 1 + layers.bidirectional]
        directions = [
            _gate_blocks([getattr(layers, name + suffix) for name in _WEIGHT_NAMES], dtype)
            for suffix in suffixes
        ]
        return cls(*(_stack(parts) for parts in zip(*directions, strict=True)))


_WEIGHT_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _gate_blocks(weights: Sequence[Tensor], dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """One direction's: a GRU's n = tanh(W x + b + r (U h + c)) takes two blocks, one for each."""
    inputs, state, width = weights[0].to(dtype), weights[1].to(dtype), weights[1].shape[1]
    input_bias, state_bias = weights[2:]
    if len(state) != 3 * width:
        return inputs, state, (input_bias + state_bias).to(dtype)
    both = 2 * width
    bias = torch.cat([input_bias[:both] + state_bias[:both], input_bias[both:], state_bias[both:]])
    inputs = torch.cat([inputs, inputs.new_zeros(width, inputs.shape[1])])
    state = torch.cat([state[:both], state.new_zeros(width, width), state[both:]])
    return inputs, state, bias.to(dtype)


def _stack(parts: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(parts)) if len(parts) > 1 else parts[0].unsqueeze(0)


def _fused_rnn(
    layers: nn.RNNBase,
    inputs: Float[Tensor, "B T I"],
    state: Float[Tensor, "B P L D"] | None = None,
    *,
    lengths: Int[Tensor, " B"] | None = None,
    reverse: bool = False,
) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B P _ D"]]:
    """Every layer over all positions; rows with lengths begin at zero and end at their own."""
    if use_triton(inputs):
        from dhyan.kernels.triton.recurrent.rnn_layer import RNNLayer
    else:
        from dhyan.kernels.cpu.recurrent import RNNLayer  # type: ignore[assignment]

    weight = _weight(layers)
    product, dtype = product_dtype(weight), _state_dtype(weight)
    cell, outputs, ends = CELLS[layers.mode], inputs, []
    with torch.autocast(inputs.device.type, enabled=False):
        for layer in range(layers.num_layers):
            if layer:
                outputs = functional.dropout(outputs, layers.dropout, layers.training)
            weights = _Weights.of(layers, layer, dtype)
            gates = _linear(
                outputs, weights.inputs.flatten(0, 1), weights.bias.flatten(), product, dtype
            ).unflatten(-1, weights.bias.shape)
            first, carry = _first_state(state, layer, dtype)
            states, *last = RNNLayer.apply(
                gates, weights.state, first, carry, lengths, cell, reverse
            )
            outputs = states.flatten(2)
            ends.append(_last_state(*last, cell=cell, dtype=_weight(layers).dtype))
    return outputs, torch.cat(ends, dim=2)


def _state_dtype(weight: Tensor) -> torch.dtype:
    """That of the states: the kernels for a CPU compute their steps in float32."""
    return product_dtype(weight) if use_triton(weight) else torch.float32


def _linear(
    x: Float[Tensor, "*B I"],
    weight: Float[Tensor, "W I"],
    bias: Float[Tensor, " W"],
    product: torch.dtype,
    dtype: torch.dtype,
) -> Float[Tensor, "*B W"]:
    """x weightᵀ + bias, as a product of one dtype in another."""
    return functional.linear(x.to(product), weight.to(product), bias.to(product)).to(dtype)


def _first_state(
    state: Float[Tensor, "B P L D"] | None, layer: int, dtype: torch.dtype
) -> tuple[Float[Tensor, "B 1 D"] | None, Float[Tensor, "B 1 D"] | None]:
    """A layer's first state as products take it, and what it carries in single precision."""
    if state is None:
        return None, None
    parts = state[:, :, layer].unsqueeze(2)
    return parts[:, 0].to(dtype), parts[:, -1].float()


def _last_state(
    last: Float[Tensor, "B N D"], carry: Float[Tensor, "B N D"], *, cell: str, dtype: torch.dtype
) -> Float[Tensor, "B P N D"]:
    """A layer's last state: (h, c) of an LSTM, else what it carried, which is h."""
    parts = (last, carry) if cell == "lstm" else (carry,)
    return torch.stack([part.to(dtype) for part in parts], dim=1)


class _Loop(NamedTuple):
    """A decoder's loop before its first step.

    `gates` is what the tokens, all known beforehand, contribute to the gates; `step_weight` are the
    weights of what each step computes: its context, or the attentional vector before it.
    """

    cell: str
    dtype: torch.dtype
    state_dtype: torch.dtype
    embedded: Float[Tensor, "B T W"]
    weights: _Weights
    gates: Float[Tensor, "B T 1 G"]
    step_weight: Float[Tensor, "G C"]

    @classmethod
    def prepare(cls, layers: nn.RNNBase, embedded: Float[Tensor, "B T W"]) -> "_Loop":
        product, dtype = product_dtype(_weight(layers)), _state_dtype(_weight(layers))
        with torch.autocast(embedded.device.type, enabled=False):
            embedded, weights = embedded.to(dtype), _Weights.of(layers, 0, dtype)
            width = embedded.shape[-1]
            token_weight, step_weight = weights.inputs[0, :, :width], weights.inputs[0, :, width:]
            gates = _linear(embedded, token_weight, weights.bias[0], product, dtype).unsqueeze(2)
        return cls(
            CELLS[layers.mode],
            dtype,
            _weight(layers).dtype,
            embedded,
            weights,
            gates,
            step_weight.contiguous(),
        )

    def last_state(self, last: Tensor, carry: Tensor) -> Float[Tensor, "B P 1 D"]:
        return _last_state(last, carry, cell=self.cell, dtype=self.state_dtype)


def _attention_arguments(operands: AttentionOperands, dtype: torch.dtype) -> tuple[Any, ...]:
    """The operands as the kernels take them: the bias of the query is added to the keys."""
    keys, values = (part.squeeze(1).to(dtype) for part in (operands.keys, operands.values))
    weight = operands.query_weight
    if operands.query_bias is not None:
        keys = keys + operands.query_bias.to(dtype)
    return (
        None if weight is None else weight.to(dtype),
        keys.contiguous(),
        values.contiguous(),
        operands.mask.contiguous(),
        operands.energy,
        operands.scale,
    )
