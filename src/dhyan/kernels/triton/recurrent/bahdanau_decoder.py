"""Bahdanau's decoder over all tokens, a few kernels a step: attend from the state, then step."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.recurrent.attention_steps import AttentionSteps
from dhyan.kernels.triton.recurrent.rnn_layer import INPUT_BLOCKS, BackwardSteps, ForwardSteps


class BahdanauLoop(torch.autograd.Function):
    """c_i = attention(s_{i-1}); s_i = f(s_{i-1}, y_{i-1}, c_i)."""

    @staticmethod
    def forward(
        ctx: Any,
        input_gates: Float[Tensor, "B T 1 G"],
        weight: Float[Tensor, "1 G D"],
        first: Float[Tensor, "B 1 D"],
        carry: Float[Tensor, "B 1 D"],
        context_weight: Float[Tensor, "G C"],
        query_weight: Float[Tensor, "A D"] | None,
        keys: Float[Tensor, "B S A"],
        values: Float[Tensor, "B S C"],
        mask: Bool[Tensor, "B S"],
        energy: Float[Tensor, " A"] | None,
        scale: float,
        cell: str,
    ) -> tuple[
        Float[Tensor, "B T 1 D"],
        Float[Tensor, "B T C"],
        Float[Tensor, "B 1 D"],
        Float[Tensor, "B 1 D"],
    ]:
        """The states, the contexts, the last state and the carry."""
        batch, steps = input_gates.shape[:2]
        contexts = values.new_empty(batch, steps, values.shape[-1])
        rnn = ForwardSteps.start(
            cell,
            input_gates,
            weight,
            first,
            carry,
            step_inputs=contexts,
            step_weight=context_weight,
        )
        operands = query_weight, keys, values, mask, energy, scale
        attention = AttentionSteps.allocate(operands, rnn.previous[:, :, 0], contexts)
        for step in range(steps):
            attention.step(step)
            rnn.step(step)
        ctx.save_for_backward(
            weight, context_weight, rnn.previous, rnn.carries, rnn.gates, *attention.saved
        )
        ctx.scale, ctx.cell = scale, cell
        return rnn.out, contexts, rnn.last, rnn.carries[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        dout: Float[Tensor, "B T 1 D"],
        dcontexts: Float[Tensor, "B T C"],
        dlast: Float[Tensor, "B 1 D"],
        dend: Float[Tensor, "B 1 D"],
    ) -> tuple[Tensor | None, ...]:
        """Step by step backwards; the gradients of weights are products over all steps."""
        weight, context_weight, previous, carries, gates, *saved = ctx.saved_tensors
        attention = AttentionSteps.restore(saved, ctx.scale, previous[:, :, 0])
        query_weight, contexts = attention.query_weight, attention.contexts
        dquery = torch.empty_like(attention.query)
        dscores = torch.empty_like(attention.weights, dtype=torch.float32)
        rnn = BackwardSteps(
            ctx.cell,
            weight,
            carries,
            gates,
            dout.contiguous(),
            dlast.contiguous(),
            dend.contiguous().clone(),
            torch.empty_like(gates),
            dquery=dquery,
            query_weight=query_weight,
            query_offset=1,
        )
        input_grads = rnn.dgates[:, :, 0, : INPUT_BLOCKS[ctx.cell] * weight.shape[-1]]
        input_weight = context_weight[: input_grads.shape[-1]]
        dcontexts = dcontexts.contiguous().clone()
        for step in reversed(range(previous.shape[1])):
            rnn.step(step)
            dcontexts[:, step].addmm_(input_grads[:, step], input_weight)
            attention.step_backward(dcontexts, dscores, dquery, step)
        first_query = dquery[:, 0] if query_weight is None else dquery[:, 0] @ query_weight
        return (
            rnn.dgates,
            rnn.weight_grad(previous),
            rnn.first_state_grad() + first_query.unsqueeze(1),
            rnn.dcarry,
            rnn.dgates.flatten(0, 2).t() @ contexts.flatten(0, 1),
            *attention.gradients(dcontexts, dscores, dquery),
            None,
        )
