"""One attention step of a trained model, as the Bahdanau and Luong lessons compute and show it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import Attention, SingleHeadAttention
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.decoder_step_operands import decoder_steps, score_name
from dhyan.insight.explain import cross_maps, explain_translation, target_ids
from dhyan.insight.lesson_blocks import Block, Table, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.encoder_decoder.context_vector import SENTENCE, parse_encoder_states
from dhyan.lessons.lesson import LessonResult, SeededVectors, parse_words
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import load_single_model
from dhyan.models.rnn import BahdanauDecoder, LuongDecoder


class EncoderDecoderStates(NamedTuple):
    """Source words with their encoder states h_j, the decoder's states, and the step shown."""

    words: tuple[str, ...]
    h: Float64[Tensor, "S D"]
    s: Float64[Tensor, "T Q"]
    step: int
    seeded: SeededVectors | None


def parse_states(
    sentence: str,
    states: Matrix | None,
    decoder: Matrix | None,
    *,
    usual: Matrix,
    step: int | None,
    seed: int,
) -> EncoderDecoderStates:
    """The reader's states, or where an argument is None the lesson's, or random ones of the words.

    Random states are as wide as the decoder's.
    """
    words = parse_words(sentence)
    s = parse_matrix("decoder", usual if decoder is None else decoder)
    h, seeded = parse_encoder_states(words, states, seed=seed, width=s.shape[1], model=True)
    return EncoderDecoderStates(words, h, s, check_step(step, len(s), of="decoder"), seeded)


def check_step(step: int | None, steps: int, *, of: str) -> int:
    """A step, counted from 1; by default the first."""
    if step is None:
        return 1
    if not isinstance(step, int) or not 1 <= step <= steps:
        fits = f"{steps} steps; give one from 1 to {steps}" if steps > 1 else "one step; give 1"
        raise UserError(f"step {step}: {of} has {fits}")
    return step


PREVIEW_WIDTH = 6  # numbers shown of a long vector
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
    """Attention at step `step` of a translation: query, keys, scores, weights and context.

    `projected` (W s + b), `inner` (the tanh) and `energy` (v) are set for an additive score,
    `attentional` (s̃) for a Luong decoder, which attends after its step. `visibility` is the local
    window's factor for each state, and `explain_weights` are the weights of `dhyan.explain`.
    """

    sentence: str
    words: tuple[str, ...]
    target: tuple[str, ...]
    translation: str
    step: int
    score_function: str
    query: Float64[Tensor, " Q"]
    states: Float64[Tensor, "S D"]
    projected: Float64[Tensor, " K"] | None
    keys: Float64[Tensor, "S K"]
    inner: Float64[Tensor, "S K"] | None
    energy: Float64[Tensor, " K"] | None
    scores: Float64[Tensor, " S"]
    visibility: Float64[Tensor, " S"]
    weights: Float64[Tensor, " S"]
    context: Float64[Tensor, " D"]
    attentional: Float64[Tensor, " Q"] | None
    explain_weights: Float64[Tensor, " S"]

    @property
    def max_difference(self) -> float:
        """The largest difference between these weights and those of `dhyan.explain`."""
        return float((self.weights - self.explain_weights).abs().max())

    @property
    def query_name(self) -> str:
        """The name of the query: s_{i-1} before the step, s_i after it."""
        return f"s_{self.step - (self.attentional is None)}"

    def blocks(self, text: Text) -> Iterator[Block]:
        """From the query to the context."""
        same, after = self.max_difference <= CLOSE, self.attentional is not None
        window = text("times_window") if (self.visibility < 1).any() else ""
        formula = (
            f"{FORMULAS[self.score_function].format(s=self.query_name)}, α = softmax(e){window}"
        )
        word = self.target[self.step - 1]
        yield text.paragraph("setup", word=word, after=after, formula=formula, same=same)
        yield from self._query_blocks(text)
        yield from self._weight_blocks(text)

    def _query_blocks(self, text: Text) -> Iterator[Block]:
        """The query, the states and what the score computes of them."""
        yield _first_numbers(text, self.query_name, self.query)
        if self.projected is not None:
            yield _first_numbers(text, f"W {self.query_name} + b", self.projected)
        yield _first_numbers(text, "h_j", self.states, self.words)
        if self.score_function in ("additive", "general"):
            name = "U h_j" if self.score_function == "additive" else "W h_j"
            yield _first_numbers(text, name, self.keys, self.words)
        if self.inner is not None and self.energy is not None:
            yield _first_numbers(text, "tanh", self.inner, self.words)
            yield _first_numbers(text, "v", self.energy)

    def _weight_blocks(self, text: Text) -> Iterator[Block]:
        """Scores, weights and context."""
        yield _column("e_j", self.scores, self.words)
        if (self.visibility < 1).any():
            visibility = self.visibility.unsqueeze(1)
            yield heatmap(text("window"), visibility, self.words)
        yield heatmap(
            "α_j",
            torch.stack([self.weights, self.explain_weights], dim=1),
            self.words,
            (text("by_hand"), "dhyan.explain"),
            digits=3,
        )
        yield _first_numbers(text, f"c_{self.step}", self.context)
        if self.attentional is not None:
            title = f"s̃_{self.step} = tanh(W_c [c_{self.step}; {self.query_name}])"
            yield _first_numbers(text, title, self.attentional)


def _first_numbers(text: Text, title: str, numbers: Tensor, names: tuple[str, ...] = ()) -> Table:
    """The first numbers of a vector, or of each of several."""
    width = numbers.shape[-1]
    note = text("shown_of_width", few=PREVIEW_WIDTH, width=width) if width > PREVIEW_WIDTH else ""
    return table(title + note, numbers[..., :PREVIEW_WIDTH], names)


def _column(title: str, numbers: Float64[Tensor, " S"], names: tuple[str, ...]) -> Table:
    return table(title, numbers.unsqueeze(1), names, digits=3)


Model = str | Path | Translator
"""A run's folder, or a translator of `dhyan.load`; "snapshot" is the stored result of a trained one."""


@dataclass(frozen=True)
class DecoderKind:
    """The decoder class and the scores that a lesson shows, and a recipe that trains one."""

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
    """Translate, and read every number of one attention step from the model's own modules.

    Matrices given together with a model are an error.
    """
    for name, value in numbers.items():
        if value is not None:
            raise UserError(
                f"{name}: the model brings its own numbers; leave out {name} or the model"
            )
    if model == SNAPSHOT:
        return _snapshot_step(lesson, sentence, step)
    parse_words(sentence)
    translator = load_single_model(model)
    score_function = _score_name(translator, lesson)
    [hypothesis] = translator(sentence, nbest=1)
    output_ids = target_ids(hypothesis)
    step = check_step(step, len(output_ids) - 1, of="the translation")
    [attention_map] = cross_maps(explain_translation(translator, sentence, hypothesis, words=False))
    trace, at = decoder_steps(translator, sentence, hypothesis), step - 1
    state, states, keys = (
        _to_float64(value) for value in (trace.queries[at], trace.states, trace.keys)
    )
    visibility, scores = _to_float64(trace.visibility[at]), _to_float64(trace.scores[at])
    projected, inner, energy, attentional = None, None, None, None
    if trace.projected_queries is not None and trace.energy is not None:
        projected, energy = _to_float64(trace.projected_queries[at]), _to_float64(trace.energy)
        inner = torch.tanh(projected + keys)
        scores = inner @ energy
    weights = scores.masked_fill(visibility == 0, -torch.inf).softmax(-1) * visibility
    context = weights @ states
    if trace.combine is not None and trace.combine.bias is not None:
        combined = _to_float64(trace.combine.weight) @ torch.cat([context, state])
        attentional = torch.tanh(combined + _to_float64(trace.combine.bias))
    return AttentionStep(
        sentence=sentence,
        words=attention_map.source,
        target=attention_map.target,
        translation=hypothesis.text,
        step=step,
        score_function=score_function,
        query=state,
        states=states,
        projected=projected,
        keys=keys,
        inner=inner,
        energy=energy,
        scores=scores,
        visibility=visibility,
        weights=weights,
        context=context,
        attentional=attentional,
        explain_weights=attention_map.weights[0, step - 1].double(),
    )


def _snapshot_step(lesson: str, sentence: str, step: int | None) -> AttentionStep:
    """The attention step of the snapshot; an error for another sentence or step."""
    result = read_snapshot(lesson, AttentionStep)
    if sentence not in (SENTENCE, result.sentence) or step not in (None, result.step):
        raise UserError(
            f"model: the snapshot is step {result.step} of {result.sentence!r}; for others give "
            f"model=RUN, a folder of `dhyan train {KINDS[lesson].recipe}`"
        )
    return result


def _score_name(translator: Translator, lesson: str) -> str:
    """The name of the model's score; an error if the lesson does not show it."""
    decoder, lesson_decoder = translator.model.decoder, KINDS[lesson]
    if not isinstance(decoder, lesson_decoder.decoder):
        raise UserError(
            f"model: its decoder is a {type(decoder).__name__}; the lesson {lesson} takes apart a "
            f"{lesson_decoder.decoder.__name__}, such as `dhyan train {lesson_decoder.recipe}` makes"
        )
    attention: Attention = decoder.attention
    if not isinstance(attention, SingleHeadAttention):
        raise UserError(f"model: its attention has several heads; the lesson {lesson} shows one")
    score_function = score_name(attention)
    if score_function not in lesson_decoder.scores:
        raise UserError(
            f"model: its score is a {type(attention.score).__name__}; the lesson {lesson} takes "
            f"apart {', '.join(lesson_decoder.scores)}"
        )
    return score_function


def _to_float64(tensor: Tensor) -> Tensor:
    """A tensor in double precision on the CPU, without gradient."""
    return tensor.detach().double().cpu()
