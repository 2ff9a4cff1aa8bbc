"""Self-attention as gravity: the words of a sentence pull a word toward them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Plane, Point, Words, table
from dhyan.insight.parse_matrix import parse_vector
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.self_attention.pulled import pulled_states
from dhyan.lessons.self_attention.space import VECTORS, Vectors, vectors_of
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot

SENTENCE, OTHER, WORD = "money bank", "river bank", "bank"
WEIGHTS, SCORES = (0.2, 0.8), (10, 32)
USUAL = (VECTORS, WEIGHTS, WEIGHTS, None)
Numbers = Sequence[float | int]


@dataclass(frozen=True)
class Pull:
    """A word before and after its sentence is mixed into it, and its distance to the others."""

    words: tuple[str, ...]
    weights: Float64[Tensor, " T"]
    before: Float64[Tensor, " D"]
    after: Float64[Tensor, " D"]
    others: tuple[str, ...]
    far_before: Float64[Tensor, " N"]
    far_after: Float64[Tensor, " N"]


@dataclass(frozen=True)
class Gravity(LessonResult):
    """One word in two sentences; and what the notes' scores would make of its weights."""

    word: str
    vectors: dict[str, Float64[Tensor, " D"]]
    first: Pull
    second: Pull
    scores: Float64[Tensor, " T"] | None
    scaled: Float64[Tensor, " T"] | None
    softmaxed: Float64[Tensor, " T"] | None

    def page(self, text: Text) -> Page:
        """Where the word goes, how far it still is, and the remark about the scores."""
        remark = self._remark(text)
        return Page(
            text("gravity.title"),
            (
                Words(" ".join(self._pulled(text, one) for one in (self.first, self.second))),
                *self._plane(text),
                self._table(text),
                *((Words(remark),) if remark else ()),
            ),
        )

    def _pulled(self, text: Text, one: Pull) -> str:
        sentence, place = " ".join(one.words), _numbers(one.after)
        far = ", ".join(
            f"{name} {before:.2f} → {after:.2f}"
            for name, before, after in zip(one.others, one.far_before, one.far_after, strict=True)
        )
        nearer = bool((one.far_after < one.far_before - 1e-12).all())
        verdict = (
            text("gravity.nearer_other_word") if nearer else text("gravity.nearer_other_word_2")
        )
        return text(
            "gravity.mixture_distance",
            sentence=sentence,
            word=self.word,
            place=place,
            verdict=verdict,
            far=far,
        )

    def _plane(self, text: Text) -> tuple[Part, ...]:
        if len(self.first.before) != 2:
            return ()
        x, y = self.first.before.tolist()
        fixed = [_point(name, at, 2) for name, at in self.vectors.items() if name != self.word]
        moved = [
            _point(f"{self.word} ({', '.join(one.others)})", one.after, kind)
            for kind, one in enumerate((self.first, self.second))
        ]
        return (
            Plane(
                text("gravity.pulled", word=self.word),
                (*fixed, Point(self.word, x, y, faint=True, kind=6), *moved),
                tuple((x, y, one.x, one.y) for one in moved),
            ),
        )

    def _table(self, text: Text) -> Part:
        both = (self.first, self.second)
        before, after = (
            torch.cat([getattr(one, far) for one in both]) for far in ("far_before", "far_after")
        )
        return table(
            text("gravity.distance", word=self.word),
            torch.stack([before, after], dim=1),
            self.first.others + self.second.others,
            (text("gravity.before"), text("gravity.after")),
        )

    def _remark(self, text: Text) -> str:
        if self.scores is None or self.scaled is None or self.softmaxed is None:
            return ""
        width = len(self.first.before)
        raw, scaled, weights = map(_numbers, (self.scores, self.scaled, self.softmaxed))
        given = _numbers(self.first.weights)
        same = bool((self.softmaxed - self.first.weights).abs().max() < 0.005)
        if same:
            verdict = text("gravity.weights_used")
        elif (self.scores.tolist(), self.first.weights.tolist()) == ([*SCORES], [*WEIGHTS]):
            verdict = text("gravity.used_come_drawing_softmax", given=given)
        else:
            verdict = text("gravity.used", given=given)
        return text(
            "gravity.softmax_scores_gives_weights",
            raw=raw,
            width=width,
            scaled=scaled,
            weights=weights,
            verdict=verdict,
        )


def gravity(
    sentence: str | Sequence[str] | None = None,
    other: str | Sequence[str] | None = None,
    *,
    word: str = WORD,
    vectors: Vectors = VECTORS,
    weights: Numbers = WEIGHTS,
    other_weights: Numbers = WEIGHTS,
    scores: Numbers | None = None,
    model: Translator | str | Path | None = None,
    sentences: int = 0,
) -> LessonResult:
    """Pull a word by given weights in two sentences; or, with a `model`, look at its own states.

    The model is a translator or the folder of a run; its encoder's states are drawn on their two
    principal axes, and measured layer by layer over so many `sentences` of the primer. The model
    "snapshot" is one that was trained before, with its own sentences.

    >>> [round(one, 1) for one in gravity().first.after.tolist()]
    [7.6, 3.8]
    """
    sentences = parse_int("sentences", sentences, least=0)
    if model is not None:
        own = (vectors, weights, other_weights, scores)
        if any(one is not usual for one, usual in zip(own, USUAL, strict=True)):
            raise UserError("a model has vectors, weights and scores of its own: leave these out")
    if model == SNAPSHOT:
        if sentence is not None or other is not None or word != WORD or sentences:
            raise UserError(
                "the snapshot is of its own sentences and word: for others give model=RUN, a "
                "folder of `dhyan train`"
            )
        return read_snapshot("gravity")
    if model is not None:
        return pulled_states(model, sentence, other, word=word, sentences=sentences)
    if sentences:
        raise UserError(
            "sentences: only a model can read them; give model=RUN too, or leave them out"
        )
    first = _pull(
        "weights", parse_words(SENTENCE if sentence is None else sentence), word, vectors, weights
    )
    second = _pull(
        "other_weights",
        parse_words(OTHER if other is None else other),
        word,
        vectors,
        other_weights,
    )
    if len(first.after) != len(second.after):
        raise UserError("vectors: those of the two sentences differ in length; give all the same")
    named = tuple(dict.fromkeys((*first.words, *second.words)))
    places = dict(zip(named, vectors_of(named, vectors), strict=True))
    if scores is None and sentence is None and first.weights.tolist() == [*WEIGHTS]:
        scores = SCORES
    if scores is None:
        return Gravity(word, places, first, second, None, None, None)
    raw = parse_vector("scores", scores, count=len(first.words))
    scaled = raw / len(first.after) ** 0.5
    return Gravity(word, places, first, second, raw, scaled, scaled.softmax(0))


def _pull(name: str, words: tuple[str, ...], word: str, vectors: Vectors, given: Numbers) -> Pull:
    if word not in words:
        raise UserError(f"word: {word!r} does not stand in {' '.join(words)!r}")
    weights = parse_vector(name, given, count=len(words))
    if (weights < 0).any() or abs(float(weights.sum()) - 1) > 1e-6:
        raise UserError(f"{name}: {_numbers(weights)} are not shares of 0 or more that sum to 1")
    own = vectors_of(words, vectors)
    before, after = own[words.index(word)], weights @ own
    rest = [at for at, one in enumerate(words) if one != word]
    return Pull(
        words,
        weights,
        before,
        after,
        tuple(words[at] for at in rest),
        (own[rest] - before).norm(dim=1),
        (own[rest] - after).norm(dim=1),
    )


def _numbers(values: Float64[Tensor, " N"]) -> str:
    """Numbers in brackets, with no more digits than they need."""
    return "[" + ", ".join(f"{round(one, 2):g}" for one in values.tolist()) + "]"


def _point(name: str, at: Float64[Tensor, " 2"], kind: int) -> Point:
    x, y = at.tolist()
    return Point(name, x, y, kind=kind)
