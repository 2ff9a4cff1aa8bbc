"""Triton: Luong's decoder (2015) with input feeding over all tokens; forward and backward pass.

A step is a few kernels: the recurrent step, attention, and the attentional vector.
"""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.activations import tanh
from dhyan.kernels.triton.recurrent.attention_steps import (
    AttentionBackwardSteps,
    AttentionSteps,
)
from dhyan.kernels.triton.recurrent.rnn_layer import INPUT_BLOCKS, BackwardSteps, ForwardSteps
from dhyan.kernels.triton.recurrent.tiles import (
    add_product,
    backward_tile,
    fast_tanh,
    matmul_precision,
    tile_offsets,
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
            _combine_step[tile.grid(batch, width)](
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
        forward = AttentionSteps.restore(saved, ctx.scale, out[:, :, 0])
        contexts, dsum = forward.contexts, torch.empty_like(attentional)
        batch, steps, width = attentional.shape
        context_width = contexts.shape[-1]
        djoined = attentional.new_empty(batch, steps, context_width + width)
        dcontexts, dout = djoined[..., :context_width], djoined[..., context_width:].unsqueeze(2)
        attention = AttentionBackwardSteps.start(forward, dcontexts)
        rnn = BackwardSteps.start(
            ctx.cell,
            weight,
            carries,
            gates,
            dout,
            dlast,
            dend,
            dquery=attention.dquery,
            query_weight=forward.query_weight,
        )
        dattentional = dattentional.contiguous()
        tile = backward_tile(batch, gates.dtype)
        for step in reversed(range(steps)):
            _combine_step_backward[tile.grid(batch, width)](
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
            attention.step(step)
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
            *attention.gradients(),
            None,
        )


@triton.jit(do_not_specialize=["step", "steps", "batch"])
@no_type_check
def _combine_step(
    context,  # B T C
    state,  # B T D
    weight,  # D (C + D)
    bias,  # D
    attentional,  # B T D
    next_input,  # B T D: the input of the next step
    step,
    steps,
    batch,
    WIDTH: tl.constexpr,
    CONTEXT: tl.constexpr,
    FAST: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """s̃ = tanh(W [c; s] + b) at a step."""
    rows, columns, real_rows, real_columns, tile_mask = tile_offsets(batch, WIDTH, ROWS, COLUMNS)
    current = rows * steps + step
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    right = weight + columns * (CONTEXT + WIDTH)
    left = context + current * CONTEXT
    total = add_product(total, left, right, real_rows, real_columns, CONTEXT, 1, INNER, PRECISION)
    left = state + current * WIDTH
    total = add_product(
        total, left, right + CONTEXT, real_rows, real_columns, WIDTH, 1, INNER, PRECISION
    )
    total += tl.load(bias + columns, real_columns, 0.0).to(tl.float32)[None, :]
    y = tanh(total, FAST).to(attentional.dtype.element_ty)
    offsets = current[:, None] * WIDTH + columns[None, :]
    tl.store(attentional + offsets, y, tile_mask)
    tl.store(next_input + offsets + WIDTH, y, tile_mask & (step + 1 < steps))


@triton.jit(do_not_specialize=["step", "steps", "batch"])
@no_type_check
def _combine_step_backward(
    dgates,  # B T (blocks × D)
    step_weight,  # (blocks × D) D
    dattentional,  # B T D
    attentional,  # B T D
    dsum,  # B T D: before the tanh
    step,
    steps,
    batch,
    WIDTH: tl.constexpr,
    BLOCKS: tl.constexpr,
    INPUT_BLOCKS: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    INNER: tl.constexpr,
):
    """The gradient of W [c; s] + b from that of s̃ and, by input feeding, of the next step."""
    rows, columns, real_rows, real_columns, tile_mask = tile_offsets(batch, WIDTH, ROWS, COLUMNS)
    current = rows * steps + step
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    if step + 1 < steps:
        left, right = dgates + (current + 1) * (BLOCKS * WIDTH), step_weight + columns
        total = add_product(
            total,
            left,
            right,
            real_rows,
            real_columns,
            INPUT_BLOCKS * WIDTH,
            WIDTH,
            INNER,
            PRECISION,
        )
    offsets = current[:, None] * WIDTH + columns[None, :]
    total += tl.load(dattentional + offsets, tile_mask, 0.0).to(tl.float32)
    y = tl.load(attentional + offsets, tile_mask, 0.0).to(tl.float32)
    tl.store(dsum + offsets, (total * (1 - y * y)).to(dsum.dtype.element_ty), tile_mask)
