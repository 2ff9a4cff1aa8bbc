"""Bahdanau's loop in a few kernels a step: look by the state before, then step."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.recurrent.attention_memory import Memory
from dhyan.kernels.triton.recurrent.rnn_layer import USED, Reading, Returning


class LookThenStep(torch.autograd.Function):
    """Bahdanau's loop: a context for the state so far, and a step that is told it."""

    @staticmethod
    def forward(
        ctx: Any,
        given: Float[Tensor, "B T 1 G"],
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
        memory = Memory(keys, values, mask, energy, scale)
        batch, steps = given.shape[:2]
        contexts = values.new_empty(batch, steps, values.shape[-1])
        weights = values.new_empty(batch, steps, mask.shape[1])
        reading = Reading.begin(
            cell, given, weight, first, carry, told=contexts, told_weight=context_weight
        )
        query = reading.before[:, :, 0]
        if query_weight is not None:
            query = query.new_empty(batch, steps, len(query_weight))
        for step in range(steps):
            if query_weight is not None:
                torch.mm(reading.before[:, step, 0], query_weight.t(), out=query[:, step])
            memory.look(query, weights, contexts, step)
            reading.step(step)
        ctx.save_for_backward(
            weight,
            context_weight,
            query_weight,
            keys,
            values,
            mask,
            energy,
            query,
            weights,
            contexts,
            reading.before,
            reading.carries,
            reading.gates,
        )
        ctx.scale, ctx.cell = scale, cell
        return reading.out, contexts, reading.last, reading.carries[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        dout: Float[Tensor, "B T 1 D"],
        dcontexts: Float[Tensor, "B T C"],
        dlast: Float[Tensor, "B 1 D"],
        dend: Float[Tensor, "B 1 D"],
    ) -> tuple[Tensor | None, ...]:
        """Back step by step; the weights take what all steps owe them at once."""
        weight, context_weight, query_weight, keys, values, mask, energy = ctx.saved_tensors[:7]
        query, weights, contexts, before, carries, gates = ctx.saved_tensors[7:]
        memory = Memory(keys, values, mask, energy, ctx.scale)
        dquery, dscores = torch.empty_like(query), torch.empty_like(weights, dtype=torch.float32)
        back = Returning(
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
            ahead=1,
        )
        told = back.dgates[:, :, 0, : USED[ctx.cell] * weight.shape[-1]]
        used_weight = context_weight[: told.shape[-1]]
        dcontexts = dcontexts.contiguous().clone()
        for step in reversed(range(before.shape[1])):
            back.step(step)
            dcontexts[:, step].addmm_(told[:, step], used_weight)
            memory.look_back(query, weights, dcontexts, dscores, dquery, step)
        dfirst, dquery_weight = back.to_first(), None
        if query_weight is None:
            dfirst = dfirst + dquery[:, :1]
        else:
            dfirst = dfirst + (dquery[:, 0] @ query_weight).unsqueeze(1)
            dquery_weight = dquery.flatten(0, 1).t() @ before.flatten(0, 2)
        dcontext_weight = back.dgates.flatten(0, 2).t() @ contexts.flatten(0, 1)
        return (
            back.dgates,
            back.to_weight(before),
            dfirst,
            back.dcarry,
            dcontext_weight,
            dquery_weight,
            *memory.owed(query, weights, dcontexts, dscores),
            None,
        )
