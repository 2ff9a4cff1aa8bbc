"""Triton: Bahdanau's decoder (2015) over all tokens, and maxout; forward and backward pass.

A step is a few kernels: attention from the previous state, then the recurrent step.
"""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.recurrent.attention_steps import (
    AttentionBackwardSteps,
    AttentionSteps,
)
from dhyan.kernels.triton.recurrent.rnn_layer import INPUT_BLOCKS, BackwardSteps, ForwardSteps

MAXOUT_BLOCK = 1024


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
        forward = AttentionSteps.restore(saved, ctx.scale, previous[:, :, 0])
        dcontexts, query_weight = dcontexts.contiguous().clone(), forward.query_weight
        attention = AttentionBackwardSteps.start(forward, dcontexts)
        rnn = BackwardSteps.start(
            ctx.cell,
            weight,
            carries,
            gates,
            dout.contiguous(),
            dlast,
            dend,
            dquery=attention.dquery,
            query_weight=query_weight,
            query_offset=1,
        )
        input_grads = rnn.dgates[:, :, 0, : INPUT_BLOCKS[ctx.cell] * weight.shape[-1]]
        input_weight = context_weight[: input_grads.shape[-1]]
        for step in reversed(range(previous.shape[1])):
            rnn.step(step)
            dcontexts[:, step].addmm_(input_grads[:, step], input_weight)
            attention.step(step)
        dquery = attention.dquery[:, 0]
        first_query = dquery if query_weight is None else dquery @ query_weight
        return (
            rnn.dgates,
            rnn.weight_grad(previous),
            rnn.first_state_grad() + first_query.unsqueeze(1),
            rnn.dcarry,
            rnn.dgates.flatten(0, 2).t() @ forward.contexts.flatten(0, 1),
            *attention.gradients(),
            None,
        )


class Maxout(torch.autograd.Function):
    """Maxout (Goodfellow et al., 2013): the larger of every two neighbours.

    The gradient goes to the larger input; ties split it.
    """

    @staticmethod
    def forward(ctx: Any, pairs: Float[Tensor, "*B K"]) -> Float[Tensor, "*B R"]:
        """The larger of each pair."""
        pairs = pairs.contiguous()
        larger = pairs.new_empty(*pairs.shape[:-1], pairs.shape[-1] // 2)
        count = larger.numel()
        _larger[(triton.cdiv(count, MAXOUT_BLOCK),)](pairs, larger, count, BLOCK=MAXOUT_BLOCK)
        ctx.save_for_backward(pairs)
        return larger

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dlarger: Float[Tensor, "*B R"]) -> Float[Tensor, "*B K"]:
        """The gradient of each pair."""
        (pairs,) = ctx.saved_tensors
        dpairs, count = torch.empty_like(pairs), dlarger.numel()
        _larger_back[(triton.cdiv(count, MAXOUT_BLOCK),)](
            pairs, dlarger.contiguous(), dpairs, count, BLOCK=MAXOUT_BLOCK
        )
        return dpairs


@triton.jit
@no_type_check
def _larger(pairs, larger, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    pairs_at = offsets[:, None] * 2 + tl.arange(0, 2)[None, :]
    first, second = tl.split(tl.load(pairs + pairs_at, inside[:, None], 0.0))
    larger_of_two = tl.maximum(first, second, propagate_nan=tl.PropagateNan.ALL)
    tl.store(larger + offsets, larger_of_two, inside)


@triton.jit
@no_type_check
def _larger_back(pairs, dlarger, dpairs, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    pairs_at = offsets[:, None] * 2 + tl.arange(0, 2)[None, :]
    first, second = tl.split(tl.load(pairs + pairs_at, inside[:, None], 0.0).to(tl.float32))
    grad = tl.load(dlarger + offsets, inside, 0.0).to(tl.float32)
    share = tl.where(first > second, 1.0, tl.where(first < second, 0.0, 0.5))
    grads = tl.join(grad * share, grad - grad * share)
    tl.store(dpairs + pairs_at, grads.to(dpairs.dtype.element_ty), inside[:, None])
