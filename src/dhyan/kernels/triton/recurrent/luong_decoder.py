"""Luong's loop with input feeding in a few kernels a step: step, look, and blend."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.recurrent.attention_memory import Memory
from dhyan.kernels.triton.recurrent.luong_output import blend, blend_back
from dhyan.kernels.triton.recurrent.rnn_layer import (
    USED,
    Reading,
    Returning,
    fast,
    one_product,
    precision,
)


class StepThenLook(torch.autograd.Function):
    """Luong's loop with input feeding: a step, a context for its state, and a blend of both."""

    @staticmethod
    def forward(
        ctx: Any,
        given: Float[Tensor, "B T 1 G"],
        weight: Float[Tensor, "1 G D"],
        first: Float[Tensor, "B 1 D"],
        carry: Float[Tensor, "B 1 D"],
        fed: Float[Tensor, "B 1 D"],
        fed_weight: Float[Tensor, "G D"],
        blend_weight: Float[Tensor, "D K"],
        blend_bias: Float[Tensor, " D"],
        query_weight: Float[Tensor, "A D"] | None,
        keys: Float[Tensor, "B S A"],
        values: Float[Tensor, "B S C"],
        mask: Bool[Tensor, "B S"],
        energy: Float[Tensor, " A"] | None,
        scale: float,
        cell: str,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B 1 D"], Float[Tensor, "B 1 D"]]:
        """The blends, the last state and the carry."""
        memory = Memory(keys, values, mask, energy, scale)
        batch, steps = given.shape[:2]
        width, depth = weight.shape[-1], values.shape[-1]
        blended = given.new_empty(batch, steps, width)
        feeds = torch.empty_like(blended)
        feeds[:, :1] = fed
        contexts = values.new_empty(batch, steps, depth)
        weights = values.new_empty(batch, steps, mask.shape[1])
        reading = Reading.begin(
            cell, given, weight, first, carry, told=feeds, told_weight=fed_weight
        )
        query = reading.out[:, :, 0]
        if query_weight is not None:
            query = query.new_empty(batch, steps, len(query_weight))
        tile = one_product(batch, given.dtype)
        for step in range(steps):
            reading.step(step)
            if query_weight is not None:
                torch.mm(reading.out[:, step, 0], query_weight.t(), out=query[:, step])
            memory.look(query, weights, contexts, step)
            blend[tile.grid(batch, width)](
                contexts,
                reading.out,
                blend_weight,
                blend_bias,
                blended,
                feeds,
                step,
                steps,
                batch,
                WIDTH=width,
                DEPTH=depth,
                FAST=fast(given),
                PRECISION=precision(given),
                **tile.settings(),
            )
        ctx.save_for_backward(
            weight,
            fed_weight,
            blend_weight,
            query_weight,
            keys,
            values,
            mask,
            energy,
            query,
            weights,
            contexts,
            reading.out,
            reading.before,
            reading.carries,
            reading.gates,
            feeds,
            blended,
        )
        ctx.scale, ctx.cell = scale, cell
        return blended, reading.last, reading.carries[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        dblended: Float[Tensor, "B T D"],
        dlast: Float[Tensor, "B 1 D"],
        dend: Float[Tensor, "B 1 D"],
    ) -> tuple[Tensor | None, ...]:
        """Back step by step; the weights take what all steps owe them at once."""
        weight, fed_weight, blend_weight, query_weight = ctx.saved_tensors[:4]
        keys, values, mask, energy = ctx.saved_tensors[4:8]
        query, weights, contexts, out, before, carries, gates, feeds, blended = ctx.saved_tensors[
            8:
        ]
        memory = Memory(keys, values, mask, energy, ctx.scale)
        batch, steps, width = blended.shape
        depth = contexts.shape[-1]
        dsum, dquery = torch.empty_like(blended), torch.empty_like(query)
        dscores = torch.empty_like(weights, dtype=torch.float32)
        djoined = blended.new_empty(batch, steps, depth + width)
        dcontexts, dout = djoined[..., :depth], djoined[..., depth:].unsqueeze(2)
        back = Returning(
            ctx.cell,
            weight,
            carries,
            gates,
            dout,
            dlast.contiguous(),
            dend.contiguous().clone(),
            torch.empty_like(gates),
            dquery=dquery,
            query_weight=query_weight,
        )
        dblended = dblended.contiguous()
        tile = one_product(batch, gates.dtype)
        for step in reversed(range(steps)):
            blend_back[tile.grid(batch, width)](
                back.dgates,
                fed_weight,
                dblended,
                blended,
                dsum,
                step,
                steps,
                batch,
                WIDTH=width,
                BLOCKS=fed_weight.shape[0] // width,
                USED=USED[ctx.cell],
                PRECISION=precision(gates),
                **tile.settings(),
            )
            torch.mm(dsum[:, step], blend_weight, out=djoined[:, step])
            memory.look_back(query, weights, dcontexts, dscores, dquery, step)
            back.step(step)
        dgates, dsums = back.dgates.flatten(0, 2), dsum.flatten(0, 1)
        dquery_weight = None
        if query_weight is not None:
            dquery_weight = dquery.flatten(0, 1).t() @ out.flatten(0, 2)
        halves = [dsums.t() @ contexts.flatten(0, 1), dsums.t() @ out.flatten(0, 2)]
        return (
            back.dgates,
            back.to_weight(before),
            back.to_first(),
            back.dcarry,
            (back.dgates[:, 0, 0] @ fed_weight).unsqueeze(1),
            dgates.t() @ feeds.flatten(0, 1),
            torch.cat(halves, dim=1),
            dsums.sum(dim=0),
            dquery_weight,
            *memory.owed(query, weights, dcontexts, dscores),
            None,
        )
