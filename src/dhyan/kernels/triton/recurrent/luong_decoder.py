"""Luong's decoder with input feeding over all tokens: a step, attention, attentional vector."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.recurrent.attention_steps import AttentionSteps
from dhyan.kernels.triton.recurrent.luong_output import combine_step, combine_step_backward
from dhyan.kernels.triton.recurrent.rnn_layer import (
    INPUT_BLOCKS,
    BackwardSteps,
    ForwardSteps,
    backward_tile,
    fast_tanh,
    matmul_precision,
)


class LuongLoop(torch.autograd.Function):
    """s_i = f(s_{i-1}, [y_{i-1}; s̃_{i-1}]); c_i = attention(s_i); s̃_i = tanh(W [c_i; s_i] + b)."""

    @staticmethod
    def forward(
        ctx: Any,
        input_gates: Float[Tensor, "B T 1 G"],
        weight: Float[Tensor, "1 G D"],
        first: Float[Tensor, "B 1 D"],
        carry: Float[Tensor, "B 1 D"],
        first_attentional: Float[Tensor, "B 1 D"],
        feed_weight: Float[Tensor, "G D"],
        combine_weight: Float[Tensor, "D K"],
        combine_bias: Float[Tensor, " D"],
        query_weight: Float[Tensor, "A D"] | None,
        keys: Float[Tensor, "B S A"],
        values: Float[Tensor, "B S C"],
        mask: Bool[Tensor, "B S"],
        energy: Float[Tensor, " A"] | None,
        scale: float,
        cell: str,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B 1 D"], Float[Tensor, "B 1 D"]]:
        """The attentional vectors, the last state and the carry."""
        batch, steps = input_gates.shape[:2]
        width, context_width = weight.shape[-1], values.shape[-1]
        attentional = input_gates.new_empty(batch, steps, width)
        feeds = torch.empty_like(attentional)
        feeds[:, :1] = first_attentional
        contexts = values.new_empty(batch, steps, context_width)
        rnn = ForwardSteps.start(
            cell, input_gates, weight, first, carry, step_inputs=feeds, step_weight=feed_weight
        )
        operands = query_weight, keys, values, mask, energy, scale
        attention = AttentionSteps.allocate(operands, rnn.out[:, :, 0], contexts)
        tile = backward_tile(batch, input_gates.dtype)
        for step in range(steps):
            rnn.step(step)
            attention.step(step)
            combine_step[tile.grid(batch, width)](
                contexts,
                rnn.out,
                combine_weight,
                combine_bias,
                attentional,
                feeds,
                step,
                steps,
                batch,
                WIDTH=width,
                CONTEXT=context_width,
                FAST=fast_tanh(input_gates),
                PRECISION=matmul_precision(input_gates),
                **tile.launch_options(),
            )
        ctx.save_for_backward(
            *(weight, feed_weight, combine_weight, feeds, attentional),
            *(rnn.out, rnn.previous, rnn.carries, rnn.gates),
            *attention.saved,
        )
        ctx.scale, ctx.cell = scale, cell
        return attentional, rnn.last, rnn.carries[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        dattentional: Float[Tensor, "B T D"],
        dlast: Float[Tensor, "B 1 D"],
        dend: Float[Tensor, "B 1 D"],
    ) -> tuple[Tensor | None, ...]:
        """Step by step backwards; the gradients of weights are products over all steps."""
        weight, feed_weight, combine_weight, feeds, attentional = ctx.saved_tensors[:5]
        out, previous, carries, gates, *saved = ctx.saved_tensors[5:]
        attention = AttentionSteps.restore(saved, ctx.scale, out[:, :, 0])
        contexts = attention.contexts
        batch, steps, width = attentional.shape
        context_width = contexts.shape[-1]
        dsum, dquery = torch.empty_like(attentional), torch.empty_like(attention.query)
        dscores = torch.empty_like(attention.weights, dtype=torch.float32)
        djoined = attentional.new_empty(batch, steps, context_width + width)
        dcontexts, dout = djoined[..., :context_width], djoined[..., context_width:].unsqueeze(2)
        rnn = BackwardSteps(
            ctx.cell,
            weight,
            carries,
            gates,
            dout,
            dlast.contiguous(),
            dend.contiguous().clone(),
            torch.empty_like(gates),
            dquery=dquery,
            query_weight=attention.query_weight,
        )
        dattentional = dattentional.contiguous()
        tile = backward_tile(batch, gates.dtype)
        for step in reversed(range(steps)):
            combine_step_backward[tile.grid(batch, width)](
                rnn.dgates,
                feed_weight,
                dattentional,
                attentional,
                dsum,
                step,
                steps,
                batch,
                WIDTH=width,
                BLOCKS=feed_weight.shape[0] // width,
                INPUT_BLOCKS=INPUT_BLOCKS[ctx.cell],
                PRECISION=matmul_precision(gates),
                **tile.launch_options(),
            )
            torch.mm(dsum[:, step], combine_weight, out=djoined[:, step])
            attention.step_backward(dcontexts, dscores, dquery, step)
            rnn.step(step)
        dgates, dsums = rnn.dgates.flatten(0, 2), dsum.flatten(0, 1)
        halves = [dsums.t() @ contexts.flatten(0, 1), dsums.t() @ out.flatten(0, 2)]
        return (
            rnn.dgates,
            rnn.weight_grad(previous),
            rnn.first_state_grad(),
            rnn.dcarry,
            (rnn.dgates[:, 0, 0] @ feed_weight).unsqueeze(1),
            dgates.t() @ feeds.flatten(0, 1),
            torch.cat(halves, dim=1),
            dsums.sum(dim=0),
            *attention.gradients(dcontexts, dscores, dquery),
            None,
        )
