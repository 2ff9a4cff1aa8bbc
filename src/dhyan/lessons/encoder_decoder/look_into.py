"""From a trained model and a sentence to one of its looks, read off the model's own modules."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from dhyan.attention import Attention, SingleHeadAttention
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.decoder_steps import decoder_steps, score_name
from dhyan.insight.explain import cross_maps, explain_translation, target_ids
from dhyan.lessons.encoder_decoder.both_sides import check_step
from dhyan.lessons.encoder_decoder.context_vector import SENTENCE
from dhyan.lessons.encoder_decoder.one_look import OneLook
from dhyan.lessons.parsing import parse_words
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import load_single_model
from dhyan.models.rnn import BahdanauDecoder, LuongDecoder

Model = str | Path | Translator
"""The folder of a run, or what `dhyan.load` makes of it; "snapshot" is what a trained one showed."""


@dataclass(frozen=True)
class Kind:
    """What a lesson takes apart: a decoder, with one of some scores, as a recipe makes it."""

    decoder: type[BahdanauDecoder] | type[LuongDecoder]
    scores: tuple[str, ...]
    recipe: str


KINDS = {
    "bahdanau": Kind(BahdanauDecoder, ("additive",), "bahdanau2015-small"),
    "luong": Kind(
        LuongDecoder, ("dot", "scaled_dot", "general", "additive", "location"), "luong2015-small"
    ),
}


def look_into(
    lesson: str, model: Model, sentence: str, step: int | None, **numbers: object
) -> OneLook:
    """Translate, walk to the step, and read every number off the model's own modules.

    Such a model brings its own numbers: any that were given beside it are refused.
    """
    for name, one in numbers.items():
        if one is not None:
            raise UserError(
                f"{name}: the model brings its own numbers; leave out {name} or the model"
            )
    if model == SNAPSHOT:
        return _kept(lesson, sentence, step)
    parse_words(sentence)
    translator = load_single_model(model)
    kind = _fitting(translator, lesson)
    [said] = translator(sentence, nbest=1)
    target = target_ids(said)
    step = check_step(step, len(target) - 1, of="the translation")
    [shown] = cross_maps(explain_translation(translator, sentence, said, words=False))
    read, at = decoder_steps(translator, sentence, said), step - 1
    state, states, keys = (_numbers(one) for one in (read.queries[at], read.states, read.keys))
    seen, scores = _numbers(read.visibility[at]), _numbers(read.scores[at])
    projected, inner, energy, attentional = None, None, None, None
    if read.projected_queries is not None and read.energy is not None:
        projected, energy = _numbers(read.projected_queries[at]), _numbers(read.energy)
        inner = torch.tanh(projected + keys)
        scores = inner @ energy
    weights = scores.masked_fill(seen == 0, -torch.inf).softmax(-1) * seen
    context = weights @ states
    if read.combine is not None and read.combine.bias is not None:
        both = _numbers(read.combine.weight) @ torch.cat([context, state])
        attentional = torch.tanh(both + _numbers(read.combine.bias))
    return OneLook(
        sentence=sentence,
        words=shown.source,
        said=shown.target,
        translation=said.text,
        step=step,
        kind=kind,
        query=state,
        states=states,
        projected=projected,
        keys=keys,
        inner=inner,
        energy=energy,
        scores=scores,
        seen=seen,
        weights=weights,
        context=context,
        attentional=attentional,
        watched=shown.weights[0, step - 1].double(),
    )


def _kept(lesson: str, sentence: str, step: int | None) -> OneLook:
    """The look that was kept, if it is the one asked for or no other is."""
    shown = read_snapshot(lesson)
    assert isinstance(shown, OneLook)
    if sentence not in (SENTENCE, shown.sentence) or step not in (None, shown.step):
        raise UserError(
            f"model: kept is step {shown.step} of {shown.sentence!r}; for others give model=RUN, "
            f"a folder of `dhyan train {KINDS[lesson].recipe}`"
        )
    return shown


def _fitting(translator: Translator, lesson: str) -> str:
    """The name of the model's score, if the lesson is about such."""
    decoder, wanted = translator.model.decoder, KINDS[lesson]
    if not isinstance(decoder, wanted.decoder):
        raise UserError(
            f"model: its decoder is a {type(decoder).__name__}; the lesson {lesson} takes apart a "
            f"{wanted.decoder.__name__}, such as `dhyan train {wanted.recipe}` makes"
        )
    attention: Attention = decoder.attention
    if not isinstance(attention, SingleHeadAttention):
        raise UserError(f"model: its attention has several heads; the lesson {lesson} shows one")
    kind = score_name(attention)
    if kind not in wanted.scores:
        raise UserError(
            f"model: its score is a {type(attention.score).__name__}; the lesson {lesson} takes "
            f"apart {', '.join(wanted.scores)}"
        )
    return kind


def _numbers(found: Tensor) -> Tensor:
    """What a model holds, wherever and however it holds it, as numbers to count with."""
    return found.detach().double().cpu()
