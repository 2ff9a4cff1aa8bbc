"""Self-attention as gravity: attention pulls the vector of a word toward its sentence's words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import hypot
from pathlib import Path

import torch
from jaxtyping import Float64
from torch import Tensor
from torch.nn.functional import cosine_similarity

from dhyan.batch import Tokens
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, Point, ScatterPlot, table
from dhyan.insight.parse_matrix import parse_vector
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_int, parse_words
from dhyan.lessons.self_attention.gravity_layers import LayerDistances, measure_layers
from dhyan.lessons.self_attention.weighted_sum import VECTORS, VectorsByWord, lookup_vectors
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import load_translator
from dhyan.special_tokens import EOS, UNK

# Both of the primer, the word at the same position.
MODEL_SENTENCE = "Ajay saw the bank and then withdrew the money."
MODEL_OTHER = "Ajay saw the bank and then photographed the crocodile."


NEAR = 0.05  # of the plot's side: two points nearer than this share one label


@dataclass(frozen=True)
class EncoderStatePull(LessonResult, title="title_trained"):
    """Encoder states of every word of two sentences; `distances` are of the words they share.

    `coordinates` are the states on the first two principal components, which explain the shares
    `explained` of the variance. `cue_distances` has a row for the word in each sentence and a
    column for each sentence: the mean distance to the words of that sentence only. `translations`
    are the model's, and `by_layer` has the distances layer by layer, where they were measured.
    """

    word: str
    sentence: str
    other: str
    words: tuple[str, ...]
    other_words: tuple[str, ...]
    states: Float64[Tensor, "T D"]
    other_states: Float64[Tensor, "S D"]
    coordinates: Float64[Tensor, "N 2"]
    explained: Float64[Tensor, " 2"]
    shared: tuple[str, ...]
    distances: Float64[Tensor, " K"]
    cosines: Float64[Tensor, " K"]
    cue_distances: Float64[Tensor, "2 2"] | None
    translations: tuple[str, str] = ("", "")
    by_layer: LayerDistances | None = None

    def blocks(self, text: Text) -> Iterator[Block]:
        """The scatter plot, the distances of shared words, and those to the cues."""
        translated = zip((self.sentence, self.other), self.translations, strict=True)
        for number, (sentence, translation) in enumerate(translated, 1):
            yield Paragraph(f"{number}. {sentence}" + (f" → {translation}" if translation else ""))
        yield Paragraph(f"{self._apart(text)} {self._nearer(text)}".strip())
        if self.by_layer:
            yield from self.by_layer.blocks(self.word, text)
        else:
            yield from self._plane(text)

    def _plane(self, text: Text) -> Iterator[Block]:
        """States after the last layer, and the distances between those of shared words."""
        first, second = (round(100 * float(share)) for share in self.explained)
        points = self._points()
        here, there = points[0], points[1]
        yield ScatterPlot(
            text("encoder_states_projection", first=first, second=second),
            tuple(points),
            ((here.x, here.y, there.x, there.y),) if there.name else (),
        )
        yield table(text("distance_between_sentences"), self.distances.unsqueeze(1), self.shared)
        yield table(text("cosine"), self.cosines.unsqueeze(1), digits=3)
        yield from self._cues(text)

    def _points(self) -> list[Point]:
        """The word in both sentences, then the words of one sentence only."""
        named = [(word, 0) for word in self.words] + [
            (other_word, 1) for other_word in self.other_words
        ]
        points = [
            Point(name, x, y, faint=name != self.word, group=side)
            for (name, side), (x, y) in zip(named, self.coordinates.tolist(), strict=True)
        ]
        here, there = (
            next(point for point in points if (point.name, point.group) == (self.word, side))
            for side in (0, 1)
        )
        extent = float((self.coordinates.amax(0) - self.coordinates.amin(0)).max())
        merged = hypot(here.x - there.x, here.y - there.y) < NEAR * extent
        names = (f"{self.word} 1, 2", "") if merged else (f"{self.word} 1", f"{self.word} 2")
        word_points = [
            replace(point, name=name) for point, name in zip((here, there), names, strict=True)
        ]
        return word_points + [point for point in points if point.name not in self.shared]

    def _cues(self, text: Text) -> Iterator[Block]:
        if self.cue_distances is None:
            return
        yield table(
            text("mean_distance_to_unshared_words"),
            self.cue_distances,
            (f"{self.word} 1", f"{self.word} 2"),
            ("1", "2"),
        )

    def _apart(self, text: Text) -> str:
        distance = float(self.distances[self.shared.index(self.word)])
        rest = [
            float(far)
            for name, far in zip(self.shared, self.distances, strict=True)
            if name != self.word
        ]
        apart = text("states_distance", distance=distance)
        if not rest:
            return apart
        more = sum(distance > far for far in rest)
        return f"{apart} " + text("moves_more_than", more=more, others=len(rest))

    def _nearer(self, text: Text) -> str:
        """Whether each state is nearer to its own sentence's words than the other state is."""
        if self.cue_distances is None:
            return ""
        (first_to_own, first_to_other), (second_to_other, second_to_own) = (
            self.cue_distances.tolist()
        )
        pulled = (first_to_own < second_to_other) + (second_to_own < first_to_other)
        return text("state_nearer_own_sentence", pulled=pulled, single_pulled=pulled == 1)


def encoder_state_pull(
    model: Translator | str | Path,
    sentence: str | Sequence[str] | None,
    other: str | Sequence[str] | None,
    *,
    word: str,
    sentences: int = 0,
) -> EncoderStatePull:
    """Encoder states of two sentences; a word's state is the mean of its tokens'.

    Over `sentences` of the primer the distances are measured layer by layer.
    """
    translator = load_translator(model)
    texts = [
        _text(argument) or default
        for argument, default in ((sentence, MODEL_SENTENCE), (other, MODEL_OTHER))
    ]
    (words, states), (other_words, others) = (_states(translator, text, word) for text in texts)
    both = torch.cat([states, others])
    centred = both - both.mean(0)
    left, sizes, _ = torch.linalg.svd(centred, full_matrices=False)
    total = sizes.square().sum()
    if total == 0:
        raise UserError("all states of both sentences are the same: there is nothing to draw")
    shared = tuple(name for name in dict.fromkeys(words) if name in other_words)
    here = states[[words.index(name) for name in shared]]
    there = others[[other_words.index(name) for name in shared]]
    return EncoderStatePull(
        word=word,
        sentence=texts[0],
        other=texts[1],
        words=words,
        other_words=other_words,
        states=states,
        other_states=others,
        coordinates=left[:, :2] * sizes[:2],
        explained=sizes[:2].square() / total,
        shared=shared,
        distances=(here - there).norm(dim=1),
        cosines=cosine_similarity(here, there, dim=1),
        cue_distances=_cue_distances(word, (words, states), (other_words, others)),
        translations=_translations(translator, texts),
        by_layer=measure_layers(translator, word, texts, sentences) if sentences else None,
    )


def _translations(translator: Translator, texts: Sequence[str]) -> tuple[str, str]:
    first, second = translator(texts, beam=1)
    return first.text, second.text


def _cue_distances(
    word: str, *sides: tuple[tuple[str, ...], Float64[Tensor, "_ D"]]
) -> Tensor | None:
    """Mean distances from the word to the words of one sentence only; None if there are none."""
    both = {name for name in sides[0][0] if name in sides[1][0]}
    word_states = [states[names.index(word)] for names, states in sides]
    cues = [states[[name not in both for name in names]] for names, states in sides]
    if not all(map(len, cues)):
        return None
    means = [
        [(cue_states - word_state).norm(dim=1).mean() for cue_states in cues]
        for word_state in word_states
    ]
    return torch.stack([torch.stack(row) for row in means])


def _text(sentence: str | Sequence[str] | None) -> str | None:
    return sentence if isinstance(sentence, str) or sentence is None else " ".join(sentence)


def _states(
    translator: Translator, text: str, word: str
) -> tuple[tuple[str, ...], Float64[Tensor, "T D"]]:
    """Each word with its state; `word` must be in the text and in the vocabulary."""
    ids = translator.encode(text)
    longest = translator.limits.source
    if len(ids) - 1 > longest:
        raise UserError(
            f"{len(ids) - 1} tokens, but this model takes at most {longest}: say it shorter"
        )
    word_spans = [
        span
        for span in translator.source.words(ids, text)
        if ids[span.first] != EOS and any(character.isalnum() for character in span.text)
    ]
    matches = [span for span in word_spans if span.text == word]
    if not matches:
        raise UserError(f"word: {word!r} does not stand in {text!r}")
    if UNK in ids[matches[0].first : matches[0].last]:
        raise UserError(f"word: this model does not know {word!r}; choose another word")
    source = Tokens.pad([ids]).to(translator.device)
    with evaluation_mode(translator.model), torch.no_grad():
        states = translator.model.encoder(source).states[0].double().cpu()
    means = torch.stack([states[span.first : span.last].mean(0) for span in word_spans])
    return tuple(span.text for span in word_spans), means


SENTENCE, OTHER, WORD = "money bank", "river bank", "bank"
WEIGHTS, SCORES = (0.2, 0.8), (10, 32)
DEFAULTS = (VECTORS, WEIGHTS, WEIGHTS, None)
Numbers = Sequence[float | int]


@dataclass(frozen=True)
class WordPull:
    """A word's vector before and after attention, and its distances to the other words."""

    words: tuple[str, ...]
    weights: Float64[Tensor, " T"]
    before: Float64[Tensor, " D"]
    after: Float64[Tensor, " D"]
    others: tuple[str, ...]
    far_before: Float64[Tensor, " N"]
    far_after: Float64[Tensor, " N"]


@dataclass(frozen=True)
class Gravity(LessonResult):
    """One word in two sentences, and the softmax of the notes' scores."""

    word: str
    vectors: dict[str, Float64[Tensor, " D"]]
    first: WordPull
    second: WordPull
    scores: Float64[Tensor, " T"] | None
    scaled: Float64[Tensor, " T"] | None
    softmaxed: Float64[Tensor, " T"] | None

    def blocks(self, text: Text) -> Iterator[Block]:
        """Where the word moves, its distances, and a remark on the scores."""
        remark = self._remark(text)
        yield Paragraph(" ".join(self._pulled(text, pull) for pull in (self.first, self.second)))
        yield from self._plane(text)
        yield self._table(text)
        if remark:
            yield Paragraph(remark)

    def _pulled(self, text: Text, pull: WordPull) -> str:
        sentence, position = " ".join(pull.words), _numbers(pull.after)
        far = ", ".join(
            f"{name} {before:.2f} → {after:.2f}"
            for name, before, after in zip(
                pull.others, pull.far_before, pull.far_after, strict=True
            )
        )
        nearer = bool((pull.far_after < pull.far_before - 1e-12).all())
        verdict = text("nearer_to_all") if nearer else text("not_nearer_to_all")
        return text(
            "contextual_position", sentence=sentence, position=position, verdict=verdict, far=far
        )

    def _plane(self, text: Text) -> Iterator[Block]:
        if len(self.first.before) != 2:
            return
        x, y = self.first.before.tolist()
        fixed = [_point(name, at, 2) for name, at in self.vectors.items() if name != self.word]
        moved = [
            _point(f"{self.word} ({', '.join(pull.others)})", pull.after, side)
            for side, pull in enumerate((self.first, self.second))
        ]
        yield ScatterPlot(
            text("movement"),
            (*fixed, Point(self.word, x, y, faint=True, group=6), *moved),
            tuple((x, y, point.x, point.y) for point in moved),
        )

    def _table(self, text: Text) -> Block:
        both = (self.first, self.second)
        before, after = (
            torch.cat([getattr(pull, far) for pull in both]) for far in ("far_before", "far_after")
        )
        return table(
            text("distance_to"),
            torch.stack([before, after], dim=1),
            self.first.others + self.second.others,
            (text("column_before"), text("column_after")),
        )

    def _remark(self, text: Text) -> str:
        if self.scores is None or self.scaled is None or self.softmaxed is None:
            return ""
        width = len(self.first.before)
        raw, scaled, weights = map(_numbers, (self.scores, self.scaled, self.softmaxed))
        weights_used = _numbers(self.first.weights)
        same = bool((self.softmaxed - self.first.weights).abs().max() < 0.005)
        if same:
            verdict = text("same_weights")
        elif (self.scores.tolist(), self.first.weights.tolist()) == ([*SCORES], [*WEIGHTS]):
            verdict = text("drawn_weights", weights_used=weights_used)
        else:
            verdict = text("other_weights", weights_used=weights_used)
        return text(
            "softmax_of_scores",
            raw=raw,
            width=width,
            scaled=scaled,
            weights=weights,
            verdict=verdict,
        )


@lesson
def gravity(
    sentence: str | Sequence[str] | None = None,
    other: str | Sequence[str] | None = None,
    *,
    word: str = WORD,
    vectors: VectorsByWord = VECTORS,
    weights: Numbers = WEIGHTS,
    other_weights: Numbers = WEIGHTS,
    scores: Numbers | None = None,
    model: Translator | str | Path | None = None,
    sentences: int = 0,
) -> LessonResult:
    """Move a word by attention weights in two sentences; or, with a `model`, by its encoder.

    The model is a translator or the folder of a run; its encoder's states are drawn on their two
    principal axes, and measured layer by layer over `sentences` of the primer. The model
    "snapshot" is the stored result of a trained model on its own sentences.

    >>> [round(value, 1) for value in gravity().first.after.tolist()]
    [7.6, 3.8]
    """
    sentences = parse_int("sentences", sentences, least=0)
    if model is not None:
        arguments = (vectors, weights, other_weights, scores)
        if any(
            argument is not default for argument, default in zip(arguments, DEFAULTS, strict=True)
        ):
            raise UserError("a model has vectors, weights and scores of its own: leave these out")
    if model == SNAPSHOT:
        if sentence is not None or other is not None or word != WORD or sentences:
            raise UserError(
                "the snapshot is of its own sentences and word: for others give model=RUN, a "
                "folder of `dhyan train`"
            )
        return read_snapshot("gravity", EncoderStatePull)
    if model is not None:
        return encoder_state_pull(model, sentence, other, word=word, sentences=sentences)
    if sentences:
        raise UserError(
            "sentences: only a model can read them; give model=RUN too, or leave them out"
        )
    first = _pull_word(
        "weights", parse_words(SENTENCE if sentence is None else sentence), word, vectors, weights
    )
    second = _pull_word(
        "other_weights",
        parse_words(OTHER if other is None else other),
        word,
        vectors,
        other_weights,
    )
    if len(first.after) != len(second.after):
        raise UserError("vectors: those of the two sentences differ in length; give all the same")
    named = tuple(dict.fromkeys((*first.words, *second.words)))
    vectors_by_word = dict(zip(named, lookup_vectors(named, vectors), strict=True))
    if scores is None and sentence is None and first.weights.tolist() == [*WEIGHTS]:
        scores = SCORES
    if scores is None:
        return Gravity(word, vectors_by_word, first, second, None, None, None)
    raw = parse_vector("scores", scores, count=len(first.words))
    scaled = raw / len(first.after) ** 0.5
    return Gravity(word, vectors_by_word, first, second, raw, scaled, scaled.softmax(0))


def _pull_word(
    name: str, words: tuple[str, ...], word: str, vectors: VectorsByWord, argument: Numbers
) -> WordPull:
    if word not in words:
        raise UserError(
            f"word: {word!r} does not stand in {' '.join(words)!r}; give word=WORD, one that both "
            "sentences have, with vectors and weights of their words"
        )
    weights = parse_vector(name, argument, count=len(words))
    if (weights < 0).any() or abs(float(weights.sum()) - 1) > 1e-6:
        raise UserError(f"{name}: {_numbers(weights)} are not shares of 0 or more that sum to 1")
    embeddings = lookup_vectors(words, vectors)
    before, after = embeddings[words.index(word)], weights @ embeddings
    rest = [at for at, other_word in enumerate(words) if other_word != word]
    return WordPull(
        words,
        weights,
        before,
        after,
        tuple(words[at] for at in rest),
        (embeddings[rest] - before).norm(dim=1),
        (embeddings[rest] - after).norm(dim=1),
    )


def _numbers(values: Float64[Tensor, " N"]) -> str:
    """Numbers in brackets, with at most two decimals."""
    return "[" + ", ".join(f"{round(value, 2):g}" for value in values.tolist()) + "]"


def _point(name: str, at: Float64[Tensor, " 2"], color_index: int) -> Point:
    x, y = at.tolist()
    return Point(name, x, y, group=color_index)
