"""Operands of one attention head of a Transformer, for display: queries, keys, values, weights."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention import Attended, DotScore, Memory, MultiHeadAttention
from dhyan.attention_maps import AttentionRole
from dhyan.batch import Batch, Tokens, pad_source
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import UserError
from dhyan.insight.explain import target_ids
from dhyan.kernels.backend import reference_kernels
from dhyan.models.interface import AttentionLayer
from dhyan.models.seq2seq import Seq2Seq


@dataclass(frozen=True)
class Projection:
    """x W + b, for one head."""

    weight: Float[Tensor, "D E"]
    bias: Float[Tensor, " E"]


@dataclass(frozen=True)
class HeadOperands:
    """One head from its input vectors to its part of the output.

    Queries are projected from `query_inputs`, keys and values from `memory_inputs`, which are the
    same vectors in self-attention. `scale` divides the scores. `output` is what this head adds to
    each position, `layer_output` what all heads and the bias add together.
    """

    name: str
    role: AttentionRole
    layer: int
    query_inputs: Float[Tensor, "T D"]
    memory_inputs: Float[Tensor, "S D"]
    query: Projection
    key: Projection
    value: Projection
    output_weight: Float[Tensor, "E O"]
    queries: Float[Tensor, "T E"]
    keys: Float[Tensor, "S E"]
    values: Float[Tensor, "S E"]
    scale: float
    scores: Float[Tensor, "T S"]
    mask: Bool[Tensor, "T S"]
    weights: Float[Tensor, "T S"]
    context: Float[Tensor, "T E"]
    output: Float[Tensor, "T O"]
    layer_output: Float[Tensor, "T O"]


@torch.inference_mode()
def head_operands(
    translator: Translator, text: str, translation: Translation, name: str, head: int
) -> HeadOperands:
    """The operands of a head, counted from 1, by a second pass over a finished translation."""
    layer, attention = _multihead(translator.model, name)
    if not 1 <= head <= attention.heads:
        raise UserError(f"head {head}: {name} has {attention.heads}; give one from 1 on")
    if not isinstance(attention.score, DotScore) or attention.kv_heads != attention.heads:
        raise UserError(
            f"{name} does not score by a dot product with its own keys: nothing to recompute"
        )
    source, target = translator.encode(text), target_ids(translation)
    batch = Batch(pad_source([source]), Tokens.pad([target])).to(translator.device)
    query_inputs, memory, layer_output, states = _run(translator.model, attention, batch)
    memory_inputs = states if layer.role == "cross" else query_inputs
    width = attention.query.out_features // attention.heads
    rows = slice((head - 1) * width, head * width)
    queries = (query_inputs @ attention.query.weight.T + attention.query.bias)[0, :, rows]
    keys, values = memory.keys[0, head - 1], memory.values[0, head - 1]
    scale = float(width**0.5) if attention.score.scaled else 1.0
    mask = attention.mask(queries.reshape(1, 1, *queries.shape), memory)[0, 0].bool()
    scores = queries @ keys.T
    weights = (scores / scale).masked_fill(~mask, -torch.inf).softmax(-1)
    context = weights @ values
    output_weight = attention.output.weight[:, rows].T
    return HeadOperands(
        name=name,
        role=layer.role,
        layer=layer.layer,
        query_inputs=_on_cpu(query_inputs[0]),
        memory_inputs=_on_cpu(memory_inputs[0]),
        query=_projection(attention.query, rows),
        key=_projection(attention.key, rows),
        value=_projection(attention.value, rows),
        output_weight=_on_cpu(output_weight),
        queries=_on_cpu(queries),
        keys=_on_cpu(keys),
        values=_on_cpu(values),
        scale=scale,
        scores=_on_cpu(scores),
        mask=mask.cpu(),
        weights=_on_cpu(weights),
        context=_on_cpu(context),
        output=_on_cpu(context @ output_weight),
        layer_output=_on_cpu(layer_output[0]),
    )


def _multihead(model: Seq2Seq, name: str) -> tuple[AttentionLayer, MultiHeadAttention]:
    for layer in model.attentions():
        if layer.name == name and isinstance(layer.attention, MultiHeadAttention):
            return layer, layer.attention
    raise UserError(f"{name!r} is not an attention with queries, keys and values of its own")


def _run(
    model: Seq2Seq, attention: MultiHeadAttention, batch: Batch
) -> tuple[Tensor, Memory, Tensor, Tensor]:
    """The attention's query inputs, memory and output in one pass, and the encoder's states."""
    calls: list[tuple[Tensor, Memory, Tensor]] = []

    def record(module: nn.Module, inputs: tuple[Tensor, Memory], attended: Attended) -> None:
        calls.append((*inputs, attended.context))

    hook = attention.register_forward_hook(record)
    try:
        with evaluation_mode(model), reference_kernels():
            states = model.encoder(batch.source).states
            calls.clear()
            model(batch)
    finally:
        hook.remove()
    query_inputs, memory, output = calls[-1]
    return query_inputs, memory, output, states


def _projection(layer: nn.Linear | None, rows: slice) -> Projection:
    if layer is None:
        raise UserError("this attention has no keys: nothing to recompute")
    return Projection(_on_cpu(layer.weight[rows].T), _on_cpu(layer.bias[rows]))


def _on_cpu(numbers: Tensor) -> Tensor:
    return numbers.detach().float().cpu()
