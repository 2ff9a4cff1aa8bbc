"""Operands of each attention step of a recurrent decoder: query, keys, scores, weights, context."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.attention import (
    AdditiveScore,
    Attended,
    DotScore,
    GeneralScore,
    LocationScore,
    Memory,
    Score,
    SingleHeadAttention,
)
from dhyan.attention.bottleneck import UniformScore
from dhyan.batch import Batch, Tokens, pad_source
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import NO_ATTENTION, UserError
from dhyan.insight.explain import target_ids
from dhyan.kernels.backend import reference_kernels
from dhyan.models.rnn import BahdanauDecoder, LuongDecoder, RNNDecoder

LARGEST_TANH = 2_000_000  # numbers; the tanh layer of longer sentences is left out


@dataclass(frozen=True)
class Layer:
    """A linear layer: W x + b; the bias may be absent."""

    weight: Float[Tensor, "O I"]
    bias: Float[Tensor, " O"] | None


@dataclass(frozen=True)
class DecoderSteps:
    """The attention of one translation: T decoder steps over S encoder states.

    `query_layer` projects the decoder state (for the location score, to the scores), `key_layer`
    the encoder states, and `energy` is v; each is present if the score has it, as are
    `projected_queries` (W s + b) and `tanh`. `visibility` is the mask or window, from 0 to 1.
    A decoder that `attends_after_step` (Luong) has `attentional` vectors, made by `combine`.
    """

    score: str
    attends_after_step: bool
    queries: Float[Tensor, "T Q"]
    states: Float[Tensor, "S D"]
    query_layer: Layer | None
    key_layer: Layer | None
    energy: Float[Tensor, " K"] | None
    projected_queries: Float[Tensor, "T K"] | None
    keys: Float[Tensor, "S K"]
    tanh: Float[Tensor, "T S K"] | None
    scores: Float[Tensor, "T S"]
    visibility: Float[Tensor, "T S"]
    weights: Float[Tensor, "T S"]
    contexts: Float[Tensor, "T D"]
    combine: Layer | None
    attentional: Float[Tensor, "T Q"] | None


@torch.inference_mode()
def decoder_steps(translator: Translator, text: str, translation: Translation) -> DecoderSteps:
    """All attention steps of a finished translation, by a second pass over it."""
    decoder, attention, name = recurrent_decoder(translator)
    calls = _attention_calls(translator, attention, text, translation)
    score = attention.score
    query_layer, key_layer, energy = _score_parameters(score)
    projected, tanh = None, None
    queries = torch.cat([call.query[0] for call in calls])
    keys, states = calls[0].memory.keys[0, 0], calls[0].memory.values[0, 0]
    if isinstance(score, AdditiveScore):
        projected = score.query(queries)
        if projected.numel() * len(keys) <= LARGEST_TANH:
            tanh = torch.tanh(projected[:, None] + keys)
    contexts = torch.cat([call.attended.context[0] for call in calls])
    combine, attentional = None, None
    if isinstance(decoder, LuongDecoder):
        combine = decoder.combine
        attentional = torch.tanh(combine(torch.cat([contexts, queries], dim=-1)))
    return DecoderSteps(
        score=name,
        attends_after_step=isinstance(decoder, LuongDecoder),
        queries=_on_cpu(queries),
        states=_on_cpu(states),
        query_layer=_layer(query_layer),
        key_layer=_layer(key_layer),
        energy=None if energy is None else _on_cpu(energy),
        projected_queries=None if projected is None else _on_cpu(projected),
        keys=_on_cpu(keys),
        tanh=None if tanh is None else _on_cpu(tanh),
        scores=_on_cpu(torch.cat([call.scores(score) for call in calls])),
        visibility=_on_cpu(torch.cat([call.visibility(attention) for call in calls])),
        weights=_on_cpu(torch.cat([call.weights() for call in calls])),
        contexts=_on_cpu(contexts),
        combine=_layer(combine),
        attentional=None if attentional is None else _on_cpu(attentional),
    )


def recurrent_decoder(
    translator: Translator,
) -> tuple[BahdanauDecoder | LuongDecoder, SingleHeadAttention, str]:
    """A model's recurrent decoder, its attention, and the name of its score in recipes."""
    decoder = translator.model.decoder
    if isinstance(decoder, RNNDecoder):
        raise UserError(NO_ATTENTION)
    if not isinstance(decoder, BahdanauDecoder | LuongDecoder):
        raise UserError(
            f"its decoder is a {type(decoder).__name__}, not a recurrent one: "
            "give a model of `dhyan train bahdanau2015-small` or `dhyan train luong2015-small`"
        )
    attention = decoder.attention
    if not isinstance(attention, SingleHeadAttention):
        raise UserError("its attention has several heads; steps are shown for a single head")
    name = score_name(attention)
    if not name:
        raise UserError(
            f"its score is a {type(attention.score).__name__}; steps are shown for additive, dot, "
            "scaled dot, general and location"
        )
    return decoder, attention, name


def score_name(attention: SingleHeadAttention) -> str:
    """The name of a score in recipes; empty for one whose steps are not shown."""
    match attention.score:
        case AdditiveScore():
            return "additive"
        case DotScore(scaled=scaled):
            return "scaled_dot" if scaled else "dot"
        case GeneralScore():
            return "general"
        case LocationScore():
            return "location"
        case UniformScore():
            return "bottleneck"
        case _:
            return ""


class _AttentionCall(NamedTuple):
    """One call of an attention: its query, its memory and its result."""

    query: Float[Tensor, "1 T Q"]
    memory: Memory
    attended: Attended

    def scores(self, score: Score) -> Float[Tensor, "T S"]:
        return score(self.query.unsqueeze(1), self.memory)[0, 0]

    def visibility(self, attention: SingleHeadAttention) -> Float[Tensor, "T S"]:
        return attention.mask(self.query.unsqueeze(1), self.memory)[0, 0].float()

    def weights(self) -> Float[Tensor, "T S"]:
        assert self.attended.weights is not None, "the definition returns weights"
        return self.attended.weights[0, 0]


def _attention_calls(
    translator: Translator, attention: SingleHeadAttention, text: str, translation: Translation
) -> Sequence[_AttentionCall]:
    """The calls of the attention in a forced pass: one for each step, or one for all of them."""
    source, target = translator.encode(text), target_ids(translation)
    batch = Batch(pad_source([source]), Tokens.pad([target])).to(translator.device)
    calls: list[_AttentionCall] = []

    def record(module: nn.Module, inputs: tuple[Tensor, Memory], attended: Attended) -> None:
        calls.append(_AttentionCall(*inputs, attended))

    hook = attention.register_forward_hook(record)
    try:
        with evaluation_mode(translator.model), reference_kernels():
            translator.model(batch)
    finally:
        hook.remove()
    return calls


def _score_parameters(score: Score) -> tuple[nn.Linear | None, nn.Linear | None, Tensor | None]:
    """The layers of a score for queries and for keys, and its energy vector, where it has them."""
    match score:
        case AdditiveScore():
            return score.query, score.key, score.energy
        case GeneralScore():
            return None, score.key, None
        case LocationScore():
            return score.positions, None, None
        case _:
            return None, None, None


def _layer(layer: nn.Linear | None) -> Layer | None:
    if layer is None:
        return None
    return Layer(_on_cpu(layer.weight), None if layer.bias is None else _on_cpu(layer.bias))


def _on_cpu(numbers: Tensor) -> Tensor:
    return numbers.detach().float().cpu()
