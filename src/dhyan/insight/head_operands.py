"""One head of a trained model with everything it multiplies, so that anyone can do it again."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention import DotScore, Memory, MultiHeadAttention
from dhyan.batch import Batch, Tokens
from dhyan.decoding.forced_decoding import attends_to_source, evaluation_mode
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import UserError
from dhyan.insight.explain import told_and_said
from dhyan.kernels.backend import by_definition


@dataclass(frozen=True)
class Projection:
    """x W + b, for one head."""

    weight: Float[Tensor, "D E"]
    bias: Float[Tensor, " E"]


@dataclass(frozen=True)
class Operands:
    """A head from its words to its part of the output.

    `asking` are the vectors that ask, `seen` those that are looked at: the same within a sentence.
    `scale` divides the scores. `output` is what this head adds to each word, `whole` what all heads
    and the bias add together.
    """

    where: str
    asking: Float[Tensor, "T D"]
    seen: Float[Tensor, "S D"]
    query: Projection
    key: Projection
    value: Projection
    project: Float[Tensor, "E O"]
    queries: Float[Tensor, "T E"]
    keys: Float[Tensor, "S E"]
    values: Float[Tensor, "S E"]
    scale: float
    scores: Float[Tensor, "T S"]
    visible: Bool[Tensor, "T S"]
    weights: Float[Tensor, "T S"]
    context: Float[Tensor, "T E"]
    output: Float[Tensor, "T O"]
    whole: Float[Tensor, "T O"]


@torch.inference_mode()
def operands(
    translator: Translator, text: str, said: Translation, where: str, head: int
) -> Operands:
    """Read one head, counted from 1, off a second pass over a finished translation."""
    attention = _multihead(translator.model, where)
    if not 1 <= head <= attention.heads:
        raise UserError(f"head {head}: {where} has {attention.heads}; give one from 1 on")
    if not isinstance(attention.score, DotScore) or attention.groups != attention.heads:
        raise UserError(f"{where} does not score by a dot product of its own keys: nothing to redo")
    source, target = translator.encode(text), told_and_said(said)
    batch = Batch(Tokens.pad([source]), Tokens.pad([target])).to(translator.device)
    asked, memory, whole, states = _run(translator.model, attention, batch)
    seen = states if attends_to_source(where) else asked
    width = attention.query.out_features // attention.heads
    rows = slice((head - 1) * width, head * width)
    queries = (asked @ attention.query.weight.T + attention.query.bias)[0, :, rows]
    keys, values = memory.keys[0, head - 1], memory.values[0, head - 1]
    scale = float(width**0.5) if attention.score.scaled else 1.0
    split = queries.reshape(1, 1, *queries.shape)
    visible = attention.sees(split, memory)[0, 0].bool()
    scores = queries @ keys.T
    weights = (scores / scale).masked_fill(~visible, -torch.inf).softmax(-1)
    context = weights @ values
    project = attention.output.weight[:, rows].T
    return Operands(
        where=where,
        asking=_plain(asked[0]),
        seen=_plain(seen[0]),
        query=_projection(attention.query, rows),
        key=_projection(attention.key, rows),
        value=_projection(attention.value, rows),
        project=_plain(project),
        queries=_plain(queries),
        keys=_plain(keys),
        values=_plain(values),
        scale=scale,
        scores=_plain(scores),
        visible=visible.cpu(),
        weights=_plain(weights),
        context=_plain(context),
        output=_plain(context @ project),
        whole=_plain(whole[0]),
    )


def _multihead(model: nn.Module, where: str) -> MultiHeadAttention:
    found = dict(model.named_modules()).get(where)
    if not isinstance(found, MultiHeadAttention):
        raise UserError(f"{where!r} is not an attention with queries, keys and values of its own")
    return found


def _run(
    model: Any, attention: MultiHeadAttention, batch: Batch
) -> tuple[Tensor, Memory, Tensor, Tensor]:
    """What the attention was asked, about what, what it answered, and what the encoder said."""
    calls: list[tuple[Tensor, Memory, Tensor]] = []

    def note(module: nn.Module, given: tuple[Any, ...], found: Any) -> None:
        calls.append((*given, found.context))

    hook = attention.register_forward_hook(note)
    try:
        with evaluation_mode(model), by_definition():
            states = model.encoder(batch.source).states
            calls.clear()
            model(batch)
    finally:
        hook.remove()
    asked, memory, answered = calls[-1]
    return asked, memory, answered, states


def _projection(layer: nn.Linear | None, rows: slice) -> Projection:
    if layer is None:
        raise UserError("this attention has no keys: nothing to redo")
    return Projection(_plain(layer.weight[rows].T), _plain(layer.bias[rows]))


def _plain(numbers: Tensor) -> Tensor:
    return numbers.detach().float().cpu()
