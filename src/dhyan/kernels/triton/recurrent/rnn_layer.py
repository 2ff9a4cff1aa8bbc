"""Triton: LSTM, GRU and Elman layers over padded batches, one kernel launch per time step."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.recurrent.rnn_cells import step_backward, step_forward
from dhyan.kernels.triton.recurrent.tiles import (
    backward_tile,
    fast_tanh,
    forward_tile,
    matmul_precision,
)

INPUT_BLOCKS = {"lstm": 4, "gru": 3, "rnn": 1}
"""How many of a cell's gate blocks, from the first, take inputs."""


@dataclass(frozen=True)
class ForwardSteps:
    """A layer's forward pass, in one direction or both, over rows that may end early.

    `input_gates` are the inputs known beforehand times their weights; with `step_inputs`, more
    inputs are computed step by step. `previous` has the state before each position.
    """

    cell: str
    input_gates: Float[Tensor, "B T N G"]
    weight: Float[Tensor, "N G D"]
    previous: Float[Tensor, "B T N D"]
    carries: Float[Tensor, "T1 B N D"]
    gates: Float[Tensor, "B T N G"]
    out: Float[Tensor, "B T N D"]
    last: Float[Tensor, "B N D"]
    lengths: Int[Tensor, " B"] | None = None
    reverse: bool = False
    step_inputs: Float[Tensor, "B T I"] | None = None
    step_weight: Float[Tensor, "G I"] | None = None

    @classmethod
    def start(
        cls,
        cell: str,
        input_gates: Float[Tensor, "B T N G"],
        weight: Float[Tensor, "N G D"],
        first: Float[Tensor, "B N D"] | None,
        carry: Float[Tensor, "B N D"] | None,
        **options: Any,
    ) -> "ForwardSteps":
        """Before the first step: from a state, or from zeros; only the latter may end early."""
        batch, steps, directions, _ = input_gates.shape
        width = weight.shape[-1]
        if first is None or carry is None:
            previous = input_gates.new_zeros(batch, steps, directions, width)
        else:
            previous = input_gates.new_empty(batch, steps, directions, width)
            previous[:, 0] = first
        carries = previous.new_empty(steps + 1, batch, directions, width, dtype=torch.float32)
        carries[0] = 0.0 if carry is None else carry
        out, last = torch.empty_like(previous), previous.new_empty(batch, directions, width)
        gates = torch.empty_like(input_gates)
        return cls(cell, input_gates, weight, previous, carries, gates, out, last, **options)

    def step(self, step: int) -> None:
        """One step of every row."""
        batch, steps, directions, width = self.previous.shape
        tile = forward_tile(batch, self.input_gates.dtype)
        step_forward[tile.grid(batch, width, directions)](
            self.input_gates,
            self.step_inputs,
            self.step_weight,
            self.weight,
            self.previous,
            self.carries,
            self.gates,
            self.out,
            self.last,
            self.lengths,
            step,
            steps,
            batch,
            CELL=self.cell,
            DIRECTIONS=directions,
            WIDTH=width,
            STEP_INPUT=0 if self.step_inputs is None else self.step_inputs.shape[-1],
            RAGGED=self.lengths is not None,
            REVERSE=int(self.reverse),
            FAST=fast_tanh(self.input_gates),
            PRECISION=matmul_precision(self.input_gates, exact="tf32x3"),
            **tile.launch_options(),
        )


@dataclass(frozen=True)
class BackwardSteps:
    """A layer's backward pass: `dgates` is the gradient of `input_gates`.

    With `dquery`, the state of a step is also the query `query_offset` steps later, as it is or by
    `query_weight`.
    """

    cell: str
    weight: Float[Tensor, "N G D"]
    carries: Float[Tensor, "T1 B N D"]
    gates: Float[Tensor, "B T N G"]
    dout: Float[Tensor, "B T N E"]
    dlast: Float[Tensor, "B N D"]
    dcarry: Float[Tensor, "B N D"]
    dgates: Float[Tensor, "B T N G"]
    lengths: Int[Tensor, " B"] | None = None
    reverse: bool = False
    dquery: Float[Tensor, "B T A"] | None = None
    query_weight: Float[Tensor, "A D"] | None = None
    query_offset: int = 0

    @classmethod
    def start(
        cls,
        cell: str,
        weight: Float[Tensor, "N G D"],
        carries: Float[Tensor, "T1 B N D"],
        gates: Float[Tensor, "B T N G"],
        dout: Float[Tensor, "B T N E"],
        dlast: Float[Tensor, "B N D"],
        dend: Float[Tensor, "B N D"],
        **options: Any,
    ) -> "BackwardSteps":
        """Before the last step: from the gradients of the outputs, the last state and its carry."""
        dcarry, dgates = dend.contiguous().clone(), torch.empty_like(gates)
        dlast = dlast.contiguous()
        return cls(cell, weight, carries, gates, dout, dlast, dcarry, dgates, **options)

    def step(self, step: int) -> None:
        """The gradient of the gates at a step, from those of the next."""
        batch, steps, directions, _ = self.gates.shape
        width = self.weight.shape[-1]
        tile = backward_tile(batch, self.gates.dtype)
        query = -1 if self.query_weight is None else self.query_weight.shape[0]
        step_backward[tile.grid(batch, width, directions)](
            self.dgates,
            self.weight,
            self.dquery,
            self.query_weight,
            self.dout,
            self.dlast,
            self.dcarry,
            self.gates,
            self.carries,
            self.lengths,
            step,
            steps,
            batch,
            step + self.query_offset,
            CELL=self.cell,
            DIRECTIONS=directions,
            WIDTH=width,
            QUERY=0 if self.dquery is None else query,
            OUT_STRIDE=self.dout.stride(1) // directions,
            RAGGED=self.lengths is not None,
            REVERSE=int(self.reverse),
            FAST=fast_tanh(self.gates),
            PRECISION=matmul_precision(self.gates),
            **tile.launch_options(),
        )

    def weight_grad(self, previous: Float[Tensor, "B T N D"]) -> Float[Tensor, "N G D"]:
        """The gradient of the state's weights, over all steps."""
        gate_grads = self.dgates.flatten(0, 1).permute(1, 2, 0)
        return torch.bmm(gate_grads, previous.flatten(0, 1).transpose(0, 1))

    def first_state_grad(self) -> Float[Tensor, "B N D"]:
        """The gradient of the first state, through the gates of the first step."""
        return torch.bmm(self.dgates[:, 0].transpose(0, 1), self.weight).transpose(0, 1)


class RNNLayer(torch.autograd.Function):
    """A layer over all positions of all rows."""

    @staticmethod
    def forward(
        ctx: Any,
        input_gates: Float[Tensor, "B T N G"],
        weight: Float[Tensor, "N G D"],
        first: Float[Tensor, "B N D"] | None,
        carry: Float[Tensor, "B N D"] | None,
        lengths: Int[Tensor, " B"] | None,
        cell: str,
        reverse: bool,
    ) -> tuple[Float[Tensor, "B T N D"], Float[Tensor, "B N D"], Float[Tensor, "B N D"]]:
        """The state at each position, zeros after a row's end; its last state, and the carry."""
        steps = ForwardSteps.start(
            cell, input_gates, weight, first, carry, lengths=lengths, reverse=reverse
        )
        for step in range(input_gates.shape[1]):
            steps.step(step)
        ctx.save_for_backward(weight, steps.previous, steps.carries, steps.gates, lengths)
        ctx.cell, ctx.reverse, ctx.has_first = cell, reverse, first is not None
        return steps.out, steps.last, steps.carries[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        dout: Float[Tensor, "B T N D"],
        dlast: Float[Tensor, "B N D"],
        dend: Float[Tensor, "B N D"],
    ) -> tuple[Tensor | None, ...]:
        """The gradients of the gates' inputs, the weights, and the first state."""
        weight, previous, carries, gates, lengths = ctx.saved_tensors
        steps = BackwardSteps.start(
            ctx.cell,
            weight,
            carries,
            gates,
            dout.contiguous(),
            dlast,
            dend,
            lengths=lengths,
            reverse=ctx.reverse,
        )
        for step in reversed(range(previous.shape[1])):
            steps.step(step)
        first_grads = (steps.first_state_grad(), steps.dcarry) if ctx.has_first else (None, None)
        return steps.dgates, steps.weight_grad(previous), *first_grads, None, None, None
