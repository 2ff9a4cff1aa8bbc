"""One attention step of a trained recurrent model: its query, keys, scores, weights and context."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import Attention, SingleHeadAttention
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Table, Words, table
from dhyan.insight.decoder_steps import decoder_steps, score_name
from dhyan.insight.explain import cross_maps, explain_translation, target_ids
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.encoder_decoder.context_vector import SENTENCE, STATES
from dhyan.lessons.parsing import parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import load_single_model
from dhyan.models.rnn import BahdanauDecoder, LuongDecoder


class EncoderDecoderStates(NamedTuple):
    """The words, a state h_j for each, a state of the decoder for each step, and which step."""

    words: tuple[str, ...]
    h: Float64[Tensor, "S D"]
    s: Float64[Tensor, "T Q"]
    step: int


def parse_states(
    sentence: str, states: Matrix | None, decoder: Matrix | None, *, usual: Matrix, step: int | None
) -> EncoderDecoderStates:
    """What was given, and the lesson's own numbers where nothing was."""
    words = parse_words(sentence)
    of = f"the words of {sentence!r}"
    h = parse_matrix("states", STATES if states is None else states, rows=len(words), of=of)
    s = parse_matrix("decoder", usual if decoder is None else decoder)
    return EncoderDecoderStates(words, h, s, check_step(step, len(s), of="decoder"))


def check_step(step: int | None, steps: int, *, of: str) -> int:
    """A step is counted from 1, and is the first if none was named."""
    if step is None:
        return 1
    if not isinstance(step, int) or not 1 <= step <= steps:
        fits = f"{steps} steps; give one from 1 to {steps}" if steps > 1 else "one step; give 1"
        raise UserError(f"step {step}: {of} has {fits}")
    return step


SHOWN_NUMBERS = 6  # so many numbers of a long vector are shown
CLOSE = 1e-5  # the model computes in single precision, the lesson in double
FORMULAS = {
    "additive": "e_j = vᵀ tanh(W {s} + U h_j + b)",
    "dot": "e_j = {s}ᵀ h_j",
    "scaled_dot": "e_j = {s}ᵀ h_j / √d",
    "general": "e_j = {s}ᵀ W h_j",
    "location": "e = W {s}",
}


@dataclass(frozen=True)
class AttentionStep(LessonResult):
    """Step `step` of a translation: the state that asks, and all that follows from it.

    `keys` are what the score makes of the states, once; `projected` (W s + b), `inner` (the tanh)
    and `energy` (v) are there if it is a small network, `attentional` (s̃) if the model asks after
    its step. `seen` is how clearly each state may be seen, and `watched` are the weights that
    `dhyan.explain` shows for the step.
    """

    sentence: str
    words: tuple[str, ...]
    said: tuple[str, ...]
    translation: str
    step: int
    kind: str
    query: Float64[Tensor, " Q"]
    states: Float64[Tensor, "S D"]
    projected: Float64[Tensor, " K"] | None
    keys: Float64[Tensor, "S K"]
    inner: Float64[Tensor, "S K"] | None
    energy: Float64[Tensor, " K"] | None
    scores: Float64[Tensor, " S"]
    seen: Float64[Tensor, " S"]
    weights: Float64[Tensor, " S"]
    context: Float64[Tensor, " D"]
    attentional: Float64[Tensor, " Q"] | None
    watched: Float64[Tensor, " S"]

    @property
    def apart(self) -> float:
        """The largest difference between these weights and those that are watched."""
        return float((self.weights - self.watched).abs().max())

    @property
    def asks(self) -> str:
        """What the state that asks is called."""
        return f"s_{self.step - (self.attentional is None)}"

    def page(self, text: Text) -> Page:
        """From the state that asks to the context it gets."""
        same, after = self.apart <= CLOSE, self.attentional is not None
        window = text("attention_step.seen") if (self.seen < 1).any() else ""
        formula = f"{FORMULAS[self.kind].format(s=self.asks)}, α = softmax(e){window}"
        word = self.said[self.step - 1]
        head = Words(
            text(
                "attention_step.model_says_step_state",
                translation=self.translation,
                step=self.step,
                word=word,
                after=after,
                formula=formula,
                same=same,
                apart=self.apart,
            )
        )
        title = text("attention_step.look_trained_model")
        return Page(title, (head, *self._asked(text), *self._answered(text)))

    def _asked(self, text: Text) -> list[Part]:
        """What the scores are made of."""
        parts: list[Part] = [_first_numbers(text, self.asks, self.query)]
        if self.projected is not None:
            parts.append(_first_numbers(text, f"W {self.asks} + b", self.projected))
        parts.append(_first_numbers(text, "h_j", self.states, self.words))
        if self.kind in ("additive", "general"):
            name = "U h_j" if self.kind == "additive" else "W h_j"
            parts.append(_first_numbers(text, name, self.keys, self.words))
        if self.inner is not None and self.energy is not None:
            parts.append(_first_numbers(text, "tanh", self.inner, self.words))
            parts.append(_first_numbers(text, "v", self.energy))
        return parts

    def _answered(self, text: Text) -> list[Part]:
        """Scores, weights, and what they mix."""
        parts: list[Part] = [_column("e_j", self.scores, self.words)]
        if (self.seen < 1).any():
            sight = self.seen.unsqueeze(1)
            parts.append(table(text("attention_step.seen_2"), sight, self.words, kind="weights"))
        parts += [
            table(
                "α_j",
                torch.stack([self.weights, self.watched], dim=1),
                self.words,
                (text("attention_step.hand"), "dhyan.explain"),
                kind="weights",
                digits=3,
            ),
            _first_numbers(text, f"c_{self.step}", self.context),
        ]
        if self.attentional is not None:
            title = f"s̃_{self.step} = tanh(W_c [c_{self.step}; {self.asks}])"
            parts.append(_first_numbers(text, title, self.attentional))
        return parts


def _first_numbers(text: Text, title: str, numbers: Tensor, names: tuple[str, ...] = ()) -> Table:
    """The first numbers of a vector, or of each of several."""
    width = numbers.shape[-1]
    note = (
        text("attention_step.of", few=SHOWN_NUMBERS, width=width) if width > SHOWN_NUMBERS else ""
    )
    return table(title + note, numbers[..., :SHOWN_NUMBERS], names)


def _column(title: str, numbers: Float64[Tensor, " S"], names: tuple[str, ...]) -> Table:
    return table(title, numbers.unsqueeze(1), names, digits=3)


Model = str | Path | Translator
"""The folder of a run, or what `dhyan.load` makes of it; "snapshot" is what a trained one showed."""


@dataclass(frozen=True)
class DecoderKind:
    """What a lesson takes apart: a decoder, with one of some scores, as a recipe makes it."""

    decoder: type[BahdanauDecoder] | type[LuongDecoder]
    scores: tuple[str, ...]
    recipe: str


KINDS = {
    "bahdanau": DecoderKind(BahdanauDecoder, ("additive",), "bahdanau2015-small"),
    "luong": DecoderKind(
        LuongDecoder, ("dot", "scaled_dot", "general", "additive", "location"), "luong2015-small"
    ),
}


def trace_attention_step(
    lesson: str, model: Model, sentence: str, step: int | None, **numbers: object
) -> AttentionStep:
    """Translate, walk to the step, and read every number off the model's own modules.

    Such a model brings its own numbers: any that were given beside it are refused.
    """
    for name, one in numbers.items():
        if one is not None:
            raise UserError(
                f"{name}: the model brings its own numbers; leave out {name} or the model"
            )
    if model == SNAPSHOT:
        return _snapshot_step(lesson, sentence, step)
    parse_words(sentence)
    translator = load_single_model(model)
    kind = _score_name(translator, lesson)
    [said] = translator(sentence, nbest=1)
    target = target_ids(said)
    step = check_step(step, len(target) - 1, of="the translation")
    [shown] = cross_maps(explain_translation(translator, sentence, said, words=False))
    read, at = decoder_steps(translator, sentence, said), step - 1
    state, states, keys = (_to_float64(one) for one in (read.queries[at], read.states, read.keys))
    seen, scores = _to_float64(read.visibility[at]), _to_float64(read.scores[at])
    projected, inner, energy, attentional = None, None, None, None
    if read.projected_queries is not None and read.energy is not None:
        projected, energy = _to_float64(read.projected_queries[at]), _to_float64(read.energy)
        inner = torch.tanh(projected + keys)
        scores = inner @ energy
    weights = scores.masked_fill(seen == 0, -torch.inf).softmax(-1) * seen
    context = weights @ states
    if read.combine is not None and read.combine.bias is not None:
        both = _to_float64(read.combine.weight) @ torch.cat([context, state])
        attentional = torch.tanh(both + _to_float64(read.combine.bias))
    return AttentionStep(
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


def _snapshot_step(lesson: str, sentence: str, step: int | None) -> AttentionStep:
    """The look that was kept, if it is the one asked for or no other is."""
    shown = read_snapshot(lesson)
    assert isinstance(shown, AttentionStep)
    if sentence not in (SENTENCE, shown.sentence) or step not in (None, shown.step):
        raise UserError(
            f"model: kept is step {shown.step} of {shown.sentence!r}; for others give model=RUN, "
            f"a folder of `dhyan train {KINDS[lesson].recipe}`"
        )
    return shown


def _score_name(translator: Translator, lesson: str) -> str:
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


def _to_float64(found: Tensor) -> Tensor:
    """What a model holds, wherever and however it holds it, as numbers to count with."""
    return found.detach().double().cpu()
