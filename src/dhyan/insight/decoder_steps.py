"""Every look of a recurrent decoder with all that it multiplies, so that anyone can do it again."""

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
from dhyan.attention.bottleneck import EvenScore
from dhyan.batch import Batch, Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import UserError
from dhyan.insight.explain import target_ids
from dhyan.kernels.backend import by_definition
from dhyan.models.rnn import BahdanauDecoder, LuongDecoder

LARGEST_INNER = 2_000_000  # numbers; a longer sentence's small networks are left out


@dataclass(frozen=True)
class Layer:
    """W x + b; some have no b."""

    weight: Float[Tensor, "O I"]
    bias: Float[Tensor, " O"] | None


@dataclass(frozen=True)
class Steps:
    """All looks of one translation: T steps at S states, in the model's own numbers.

    `asking` makes W s + b of the state that asks (or, for the location score, the scores), `asked`
    makes the keys of the states, and `energy` is v: each is there if the score has it, as are
    `projected` (W s + b) and `inner` (the tanh). `seen` is how clearly each state may be seen.
    A decoder that looks `after` its step has `attentional` vectors, which `combine` makes.
    """

    kind: str
    after: bool
    queries: Float[Tensor, "T Q"]
    states: Float[Tensor, "S D"]
    asking: Layer | None
    asked: Layer | None
    energy: Float[Tensor, " K"] | None
    projected: Float[Tensor, "T K"] | None
    keys: Float[Tensor, "S K"]
    inner: Float[Tensor, "T S K"] | None
    scores: Float[Tensor, "T S"]
    seen: Float[Tensor, "T S"]
    weights: Float[Tensor, "T S"]
    contexts: Float[Tensor, "T D"]
    combine: Layer | None
    attentional: Float[Tensor, "T Q"] | None


@torch.inference_mode()
def steps(translator: Translator, text: str, said: Translation) -> Steps:
    """Read all looks off a second pass over a finished translation."""
    decoder, attention, kind = stepping(translator)
    looks = _looks(translator, attention, text, said)
    score = attention.score
    asking, asked, energy = _learned(score)
    projected, inner = None, None
    queries = torch.cat([look.query[0] for look in looks])
    keys, states = looks[0].memory.keys[0, 0], looks[0].memory.values[0, 0]
    if isinstance(score, AdditiveScore):
        projected = score.query(queries)
        if projected.numel() * len(keys) <= LARGEST_INNER:
            inner = torch.tanh(projected[:, None] + keys)
    contexts = torch.cat([look.answer.context[0] for look in looks])
    combine, attentional = None, None
    if isinstance(decoder, LuongDecoder):
        combine = decoder.combine
        attentional = torch.tanh(combine(torch.cat([contexts, queries], dim=-1)))
    return Steps(
        kind=kind,
        after=isinstance(decoder, LuongDecoder),
        queries=_plain(queries),
        states=_plain(states),
        asking=_layer(asking),
        asked=_layer(asked),
        energy=None if energy is None else _plain(energy),
        projected=None if projected is None else _plain(projected),
        keys=_plain(keys),
        inner=None if inner is None else _plain(inner),
        scores=_plain(torch.cat([look.scores(score) for look in looks])),
        seen=_plain(torch.cat([look.seen(attention) for look in looks])),
        weights=_plain(torch.cat([look.weights() for look in looks])),
        contexts=_plain(contexts),
        combine=_layer(combine),
        attentional=None if attentional is None else _plain(attentional),
    )


def stepping(
    translator: Translator,
) -> tuple[BahdanauDecoder | LuongDecoder, SingleHeadAttention, str]:
    """A model's decoder, its attention and the name of its score, if it looks step by step."""
    decoder = translator.model.decoder
    if not isinstance(decoder, BahdanauDecoder | LuongDecoder):
        raise UserError(
            f"its decoder is a {type(decoder).__name__}; one that goes step by step is needed: "
            "give a model of `dhyan train bahdanau2015-small` or `dhyan train luong2015-small`"
        )
    attention = decoder.attention
    if not isinstance(attention, SingleHeadAttention):
        raise UserError("its attention has several heads; a step is shown for a single one")
    kind = kind_of(attention)
    if not kind:
        raise UserError(
            f"its score is a {type(attention.score).__name__}; taken apart are additive, dot, "
            "scaled dot, general and location"
        )
    return decoder, attention, kind


def kind_of(attention: SingleHeadAttention) -> str:
    """What recipes call a score; nothing for one that cannot be taken apart."""
    match attention.score:
        case AdditiveScore():
            return "additive"
        case DotScore(scaled=scaled):
            return "scaled_dot" if scaled else "dot"
        case GeneralScore():
            return "general"
        case LocationScore():
            return "location"
        case EvenScore():
            return "bottleneck"
        case _:
            return ""


class _Look(NamedTuple):
    """What an attention was asked, the memory it looked at, and what it answered."""

    query: Float[Tensor, "1 T Q"]
    memory: Memory
    answer: Attended

    def scores(self, score: Score) -> Float[Tensor, "T S"]:
        return score(self.query.unsqueeze(1), self.memory)[0, 0]

    def seen(self, attention: SingleHeadAttention) -> Float[Tensor, "T S"]:
        return attention.sees(self.query.unsqueeze(1), self.memory)[0, 0].float()

    def weights(self) -> Float[Tensor, "T S"]:
        assert self.answer.weights is not None, "by definition there are weights"
        return self.answer.weights[0, 0]


def _looks(
    translator: Translator, attention: SingleHeadAttention, text: str, said: Translation
) -> Sequence[_Look]:
    """Feed a model the words it said; a decoder looks at every step, or at all of them at once."""
    source, target = translator.encode(text), target_ids(said)
    batch = Batch(Tokens.pad([source]), Tokens.pad([target])).to(translator.device)
    looks: list[_Look] = []

    def note(module: nn.Module, given: tuple[Tensor, Memory], answer: Attended) -> None:
        looks.append(_Look(*given, answer))

    hook = attention.register_forward_hook(note)
    try:
        with evaluation_mode(translator.model), by_definition():
            translator.model(batch)
    finally:
        hook.remove()
    return looks


def _learned(score: Score) -> tuple[nn.Linear | None, nn.Linear | None, Tensor | None]:
    """What a score has learned for the state that asks, for the states, and to sum up both."""
    match score:
        case AdditiveScore():
            return score.query, score.key, score.energy
        case GeneralScore():
            return None, score.key, None
        case LocationScore():
            return score.places, None, None
        case _:
            return None, None, None


def _layer(layer: nn.Linear | None) -> Layer | None:
    if layer is None:
        return None
    return Layer(_plain(layer.weight), None if layer.bias is None else _plain(layer.bias))


def _plain(numbers: Tensor) -> Tensor:
    return numbers.detach().float().cpu()
