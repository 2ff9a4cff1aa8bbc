"""Recurrent layers and attention decoders on a CPU, in float32; forward and backward pass.

A thread takes some rows through all steps, so that threads never wait for each other. The gradients
of weights are products over all steps.
"""

from ctypes import byref
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.cpu.library import (
    CELLS,
    AttentionSource,
    LayerShape,
    LoopGradients,
    LoopRecord,
    LoopShape,
    LoopWeights,
    call,
    pointer,
    pointers,
)


class RNNLayer(torch.autograd.Function):
    """A layer over all positions of all rows, in one direction or both."""

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
        batch, steps, directions, _ = input_gates.shape
        width = weight.shape[-1]
        input_gates, weight = input_gates.contiguous(), weight.contiguous()
        starts = [None if part is None else part.contiguous() for part in (first, carry)]
        lengths = None if lengths is None else lengths.long().contiguous()
        new = input_gates.new_zeros if lengths is not None else input_gates.new_empty
        out, previous, before = (new(batch, steps, directions, width) for _ in range(3))
        gates = new(input_gates.shape)
        last, end = (new(batch, directions, width) for _ in range(2))
        sizes = batch, steps, directions, width, CELLS[cell], reverse, pointer(lengths)
        call(
            "layer_forward",
            byref(LayerShape(*sizes)),
            *map(pointer, (input_gates, weight, *starts, out, previous, before, gates, last, end)),
        )
        ctx.save_for_backward(weight, previous, before, gates, lengths)
        ctx.cell, ctx.reverse, ctx.has_first = cell, reverse, first is not None
        return out, last, end

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        dout: Float[Tensor, "B T N D"],
        dlast: Float[Tensor, "B N D"],
        dend: Float[Tensor, "B N D"],
    ) -> tuple[Tensor | None, ...]:
        """The gradients of the gates' inputs, the weights, and the first state."""
        weight, previous, before, gates, lengths = ctx.saved_tensors
        batch, steps, directions, width = previous.shape
        dgates = torch.empty_like(gates) if lengths is None else torch.zeros_like(gates)
        dfirst, dcarry = torch.empty_like(dlast), torch.empty_like(dend)
        grads = dout.contiguous(), dlast.contiguous(), dend.contiguous()
        sizes = batch, steps, directions, width, CELLS[ctx.cell], ctx.reverse, pointer(lengths)
        call(
            "layer_backward",
            byref(LayerShape(*sizes)),
            *map(pointer, (weight, before, gates, *grads, dgates, dfirst, dcarry)),
        )
        dweight = torch.stack(
            [_weight_grad(dgates[:, :, at], previous[:, :, at]) for at in range(directions)]
        )
        first_grads = (dfirst, dcarry) if ctx.has_first else (None, None)
        return dgates, dweight, *first_grads, None, None, None


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
        weights = _contiguous(weight, context_weight, query_weight, None, None)
        source = _contiguous(keys, values, mask, energy)
        shape = _shape(cell, input_gates, weights, source, scale)
        record = _new_record(shape, input_gates, luong=False)
        end = torch.empty_like(first, memory_format=torch.contiguous_format)
        _run_forward(shape, weights, source, (input_gates, first, carry, None), record, end)
        ctx.save_for_backward(*weights, *source, *record)
        ctx.scale, ctx.cell = scale, cell
        states, contexts = record[3], record[6]
        assert states is not None
        return states.unsqueeze(2), contexts, states[:, -1:].clone(), end

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        dstates: Float[Tensor, "B T 1 D"],
        dcontexts: Float[Tensor, "B T C"],
        dlast: Float[Tensor, "B 1 D"],
        dend: Float[Tensor, "B 1 D"],
    ) -> tuple[Tensor | None, ...]:
        """Step by step backwards; the gradients of weights are products over all steps."""
        weights, source, record = _restore(ctx.saved_tensors)
        grads = _run_backward(
            ctx.cell, ctx.scale, weights, source, record, (dstates, dcontexts, None, dlast, dend)
        )
        gates = grads["gates"]
        return (
            gates.unsqueeze(2),
            _weight_grad(gates, record[0]).unsqueeze(0),
            grads["first"],
            grads["carry"],
            _weight_grad(gates, record[6]),
            *_attention_grads(grads, weights, source, record, record[0]),
            None,
            None,
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
        weights = _contiguous(weight, feed_weight, query_weight, combine_weight, combine_bias)
        source = _contiguous(keys, values, mask, energy)
        shape = _shape(cell, input_gates, weights, source, scale)
        record = _new_record(shape, input_gates, luong=True)
        end = torch.empty_like(first, memory_format=torch.contiguous_format)
        begin = input_gates, first, carry, first_attentional
        _run_forward(shape, weights, source, begin, record, end)
        ctx.save_for_backward(*weights, *source, *record)
        ctx.scale, ctx.cell = scale, cell
        states, attentional = record[3], record[8]
        assert states is not None
        return attentional, states[:, -1:].clone(), end

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        dattentional: Float[Tensor, "B T D"],
        dlast: Float[Tensor, "B 1 D"],
        dend: Float[Tensor, "B 1 D"],
    ) -> tuple[Tensor | None, ...]:
        """Step by step backwards; the gradients of weights are products over all steps."""
        weights, source, record = _restore(ctx.saved_tensors)
        grads = _run_backward(
            ctx.cell, ctx.scale, weights, source, record, (None, None, dattentional, dlast, dend)
        )
        gates, sums, states = grads["gates"], grads["sums"], record[3]
        halves = [_weight_grad(sums, record[6]), _weight_grad(sums, states)]
        return (
            gates.unsqueeze(2),
            _weight_grad(gates, record[0]).unsqueeze(0),
            grads["first"],
            grads["carry"],
            grads["first_attentional"],
            _weight_grad(gates, record[7]),
            torch.cat(halves, dim=1),
            sums.flatten(0, 1).sum(dim=0),
            *_attention_grads(grads, weights, source, record, states),
            None,
            None,
        )


Tensors = tuple[Any, ...]
"""Tensors in the order of the fields of a structure of the library; None where there is none."""

WEIGHTS, SOURCE = len(LoopWeights._fields_), len(AttentionSource._fields_)


def _contiguous(*tensors: Tensor | None) -> Tensors:
    return tuple(None if tensor is None else tensor.contiguous() for tensor in tensors)


def _named(structure: Any, tensors: Tensors) -> Any:
    names = (name for name, _ in structure._fields_)
    return byref(pointers(structure, **dict(zip(names, tensors, strict=True))))


def _restore(saved: Tensors) -> tuple[Tensors, Tensors, Tensors]:
    """Weights, source and record."""
    return saved[:WEIGHTS], saved[WEIGHTS : WEIGHTS + SOURCE], saved[WEIGHTS + SOURCE :]


def _shape(cell: str, gates: Tensor, weights: Tensors, source: Tensors, scale: float) -> LoopShape:
    state, step, query = weights[:3]
    keys, values, _, energy = source
    return LoopShape(
        *(gates.shape[0], gates.shape[1], keys.shape[1]),
        *(CELLS[cell], state.shape[-1], step.shape[-1], keys.shape[-1], values.shape[-1]),
        *(query is not None, energy is not None, scale),
    )


def _new_record(shape: LoopShape, gates: Tensor, *, luong: bool) -> Tensors:
    def new(width: int, needed: bool = True) -> Tensor | None:
        return gates.new_empty(shape.rows, shape.steps, width) if needed else None

    width = shape.width
    return (
        *(new(width), new(width), new(gates.shape[-1]), new(width)),
        *(new(shape.score_width, bool(shape.projected)), new(shape.positions)),
        *(new(shape.value_width), new(width, luong), new(width, luong)),
    )


def _run_forward(
    shape: LoopShape,
    weights: Tensors,
    source: Tensors,
    begin: Tensors,
    record: Tensors,
    end: Tensor,
) -> None:
    begin = _contiguous(*begin)
    call(
        "loop_forward",
        byref(shape),
        record[8] is not None,
        _named(LoopWeights, weights),
        _named(AttentionSource, source),
        *map(pointer, begin),
        _named(LoopRecord, record),
        pointer(end),
    )


def _run_backward(
    cell: str,
    scale: float,
    weights: Tensors,
    source: Tensors,
    record: Tensors,
    incoming: Tensors,
) -> dict[str, Tensor]:
    """The gradients by name."""
    incoming = _contiguous(*incoming)
    gates, luong = record[2], record[8] is not None
    keys, energy = source[0], source[3]
    shape = _shape(cell, gates, weights, source, scale)
    threads = torch.get_num_threads()
    grads = {
        "gates": torch.empty_like(gates),
        "contexts": torch.empty_like(record[6]),
        "scores": torch.empty_like(record[5]),
        "queries": None if record[4] is None else torch.empty_like(record[4]),
        "keys": None if energy is None else torch.zeros_like(keys),
        "energy": None if energy is None else energy.new_zeros(threads, len(energy)),
        "sums": torch.empty_like(record[8]) if luong else None,
        "first": torch.empty_like(incoming[3]),
        "carry": torch.empty_like(incoming[4]),
        "first_attentional": torch.empty_like(incoming[3]) if luong else None,
    }
    call(
        "loop_backward",
        byref(shape),
        luong,
        _named(LoopWeights, weights),
        _named(AttentionSource, source),
        _named(LoopRecord, record),
        _named(LoopGradients, (*incoming, *grads.values())),
    )
    return grads  # type: ignore[return-value]


def _attention_grads(
    grads: dict[str, Tensor], weights: Tensors, source: Tensors, record: Tensors, states: Tensor
) -> tuple[Tensor | None, ...]:
    """Those of query weight, keys, values, mask and energy; a query is a state or its product."""
    query_weight, keys, energy = weights[2], grads["keys"], grads["energy"]
    if keys is None:
        queries = states if query_weight is None else record[4]
        keys = torch.bmm(grads["scores"].transpose(1, 2), queries)
    return (
        None if query_weight is None else _weight_grad(grads["queries"], states),
        keys,
        torch.bmm(record[5].transpose(1, 2), grads["contexts"]),
        None,
        None if energy is None else energy.sum(dim=0),
    )


def _weight_grad(
    output_grads: Float[Tensor, "B T G"], inputs: Float[Tensor, "B T D"]
) -> Float[Tensor, "G D"]:
    """The gradient of a weight over all steps."""
    return output_grads.flatten(0, 1).t() @ inputs.flatten(0, 1)
