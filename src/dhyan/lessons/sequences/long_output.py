"""Long output: a trained model reads six words and writes hundreds, and nothing is cut."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.attention_maps import AttentionMap
from dhyan.data.pairs import Pair
from dhyan.data.synthetic import (
    COLOURS,
    MOST_VERSES,
    TRAINED_VERSES,
    UNPAIRED,
    counting_pair,
    is_held_out_count,
)
from dhyan.decoding.translator import Translation, Translator
from dhyan.errors import UserError
from dhyan.insight.explain import explain_translation
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import load_single_model

SENTENCE = "red blue green 5 to 64"
VERSE = 4  # words: a number and three colours
ROOM = (MOST_VERSES + 1) * VERSE  # a length limit above every reference
VERSES = (1, 10, 20, 30, 40, 50, TRAINED_VERSES, 65, 70, 75, 80, 90, MOST_VERSES)
TESTED, SEED = 20, 7  # test sentences of each length, and the seed they are drawn with
FIRST_WORDS, LAST_WORDS = 9, 5  # of an output that is shown in part

Model = str | Path | Translator


@dataclass(frozen=True)
class LimitedSearch:
    """One search: its length limit, the output's length, whether it ended, whether it is exact."""

    limit: int
    default: bool
    length: int
    finished: bool
    exact: bool


@dataclass(frozen=True)
class CountAccuracy:
    """Outputs of one model for test sentences whose reference has `length` words.

    `first_errors` are the numbers of correct words before the first wrong one, in outputs that are
    not exact.
    """

    length: int
    exact: int
    tested: int
    first_errors: tuple[int, ...]

    @property
    def share(self) -> float:
        """Share of outputs equal to the reference from the first word to the end token."""
        return self.exact / self.tested


@dataclass(frozen=True)
class TrainingCounts:
    """Accuracies of one training by length: with colours seen together in training, or never so."""

    training: int
    seen_together: bool
    accuracies: tuple[CountAccuracy, ...]

    def sums(self, longest: int, *, beyond: bool) -> tuple[int, int]:
        """Exact outputs and all outputs up to the longest length, or beyond it."""
        chosen = [part for part in self.accuracies if (part.length > longest) == beyond]
        return sum(part.exact for part in chosen), sum(part.tested for part in chosen)


@dataclass(frozen=True)
class PlaceHead:
    """The head that keeps the place best: its weights around the beginning and the end.

    `hits` of `steps` is how often its largest weight lies where `distance` says: that many words
    before the word being written, or, for cross-attention, on the colour being translated (0).
    """

    layer: int
    head: int
    distance: int
    hits: int
    steps: int
    columns: tuple[str, ...]
    first_rows: tuple[str, ...]
    first_weights: Float[Tensor, "T S"]
    last_rows: tuple[str, ...] = ()
    last_weights: Float[Tensor, "U S"] | None = None

    @property
    def share(self) -> float:
        """The share of steps in which it does so."""
        return self.hits / max(1, self.steps)


@dataclass(frozen=True)
class LongOutput(LessonResult):
    """A sentence of six words, its long output, and exact outputs by length for each training.

    `counts` has two entries for every training. `cross` and `own` are the heads of the first model
    that keep the place, in cross-attention and in the decoder's self-attention.
    """

    sentence: str
    reference: str
    output: str
    searches: tuple[LimitedSearch, ...]
    counts: tuple[TrainingCounts, ...]
    parameters: int
    cross: PlaceHead
    own: PlaceHead

    @property
    def source_length(self) -> int:
        """The words of the sentence."""
        return len(self.sentence.split())

    @property
    def reference_length(self) -> int:
        """The words of the reference."""
        return len(self.reference.split())

    @property
    def trained_length(self) -> int:
        """The longest output in training, in words."""
        return TRAINED_VERSES * VERSE

    def blocks(self, text: Text) -> Iterator[Block]:
        """The output and its limits, exactness by length, and the heads that keep the place."""
        first, second = sorted(UNPAIRED)
        trainings = len({counts.training for counts in self.counts})
        yield text.paragraph(
            "setup",
            trainings=trainings,
            several=trainings > 1,
            first_colour=first,
            second_colour=second,
        )
        yield Paragraph(_excerpt(self.output))
        yield self._searches(text)
        yield Paragraph(self._cut(text))
        yield self._accuracy(text)
        yield Paragraph(f"{self._within(text)} {self._beyond(text)}")
        cross, last_weights = self.cross, self.cross.last_weights
        assert last_weights is not None
        yield text.paragraph(
            "cross_attention",
            share=cross.share,
            end_weight=float(last_weights[-1, self.source_length - 1]),
        )
        yield heatmap(text("weights_first"), cross.first_weights, cross.first_rows, cross.columns)
        yield heatmap(text("weights_last"), last_weights, cross.last_rows, cross.columns)
        yield text.paragraph("self_attention", share=self.own.share)
        yield heatmap(
            text("self_weights"), self.own.first_weights, self.own.first_rows, self.own.columns
        )

    def _searches(self, text: Text) -> Block:
        return table(
            f"“{self.sentence}”",
            [
                [float(search.length), float(search.finished), float(search.exact)]
                for search in self.searches
            ],
            [
                text("row_default", limit=search.limit)
                if search.default
                else text("row_limit", limit=search.limit)
                for search in self.searches
            ],
            (text("column_output"), text("column_finished"), text("column_exact")),
        )

    def _cut(self, text: Text) -> str:
        cut, full = self.searches
        return text(
            "limits",
            cut_limit=cut.limit,
            cut=not cut.finished,
            full_limit=full.limit,
            full_length=full.length,
            exact=full.exact,
        )

    def _accuracy(self, text: Text) -> Block:
        curves = tuple(
            Curve(
                text("seen_together", number=counts.training)
                if counts.seen_together
                else text("never_together", number=counts.training),
                [accuracy.share for accuracy in counts.accuracies],
                style="solid" if counts.seen_together else "dashed",
            )
            for counts in self.counts
        )
        accuracies = self.counts[0].accuracies
        return LineChart(
            text("exact_by_length", tested=accuracies[0].tested),
            curves,
            tuple(str(accuracy.length) for accuracy in accuracies),
            text("axis_length"),
            text("axis_exact"),
        )

    def exact(self, *, seen_together: bool, beyond: bool) -> tuple[int, int]:
        """Exact outputs and all, of every training, up to the longest of training or beyond."""
        parts = [
            counts.sums(self.trained_length, beyond=beyond)
            for counts in self.counts
            if counts.seen_together == seen_together
        ]
        return sum(exact for exact, _ in parts), sum(tested for _, tested in parts)

    def _within(self, text: Text) -> str:
        seen, of_seen = self.exact(seen_together=True, beyond=False)
        never, of_never = self.exact(seen_together=False, beyond=False)
        return text("within", seen=seen, of_seen=of_seen, never=never, of_never=of_never)

    def _beyond(self, text: Text) -> str:
        """How far the models get past the longest output of training, and where they go wrong."""
        accuracies = [
            accuracy
            for counts in self.counts
            if counts.seen_together
            for accuracy in counts.accuracies
            if accuracy.length > self.trained_length
        ]
        exact, tested = self.exact(seen_together=True, beyond=True)
        verdict = text("beyond", exact=exact, tested=tested, longest=accuracies[-1].length)
        lengths = sorted({accuracy.length for accuracy in accuracies})
        failed = [
            length
            for length in lengths
            if not any(part.exact for part in accuracies if part.length >= length)
        ]
        if failed:
            verdict += " " + text("none_from", length=failed[0])
        if errors := [error for accuracy in accuracies for error in accuracy.first_errors]:
            verdict += " " + text("first_error", error=round(median(errors)), errors=len(errors))
        return verdict


@lesson
def long_output(sentence: str = SENTENCE, *, model: Model = SNAPSHOT) -> LongOutput:
    """Six words in, hundreds out, by a model that was trained for it.

    The sentence has three colours, a first and a last number: "red blue green 5 to 64". `model` is
    the folder of a run with data.synthetic=counting, or a translator; by default the snapshot of two
    trainings is shown.
    """
    if model != SNAPSHOT:
        return measure_long_output([model], sentence)
    snapshot = read_snapshot("long_output", LongOutput)
    if sentence != snapshot.sentence:
        raise UserError(
            f"sentence: the snapshot has its own, {snapshot.sentence!r}; give model=RUN too, a run "
            "with data.synthetic=counting"
        )
    return snapshot


def measure_long_output(models: Sequence[Model], sentence: str = SENTENCE) -> LongOutput:
    """Outputs of trained models; limits and attention are those of the first."""
    pair = _parse(sentence)
    translators = [load_single_model(model) for model in models]
    first = translators[0]
    searches = []
    for limit in (0, ROOM):
        [translation] = first([pair.source], beam=1, max_length=limit)
        searches.append(
            LimitedSearch(
                limit=limit or default_limit(first, pair.source),
                default=limit == 0,
                length=len(translation.ids),
                finished=translation.finished,
                exact=is_exact(translation, pair),
            )
        )
    maps = explain_translation(first, pair.source, translation)
    return LongOutput(
        sentence=pair.source,
        reference=pair.target,
        output=translation.text,
        searches=tuple(searches),
        counts=tuple(
            TrainingCounts(number, together, measure_counts(translator, together))
            for number, translator in enumerate(translators, 1)
            for together in (True, False)
        ),
        parameters=sum(parameter.numel() for parameter in first.model.parameters()),
        cross=cross_place_head(maps, pair.source),
        own=self_place_head(maps),
    )


def default_limit(translator: Translator, source: str) -> int:
    """The length limit where none is given: three times the source plus fifty tokens."""
    return 3 * (len(translator.encode(source)) - 1) + 50


def is_exact(translation: Translation, pair: Pair) -> bool:
    """Whether an output is its reference to the last word, ended by the model itself."""
    return translation.finished and translation.text == pair.target


def measure_counts(translator: Translator, seen_together: bool) -> tuple[CountAccuracy, ...]:
    """Exact outputs by length, of held-out sentences."""
    rng = random.Random(SEED)
    results = []
    for verses in VERSES:
        pairs = [held_out_pair(rng, verses, seen_together=seen_together) for _ in range(TESTED)]
        translations = translator([pair.source for pair in pairs], beam=1, max_length=ROOM)
        wrong = [
            _correct_words(translation.text, pair.target)
            for translation, pair in zip(translations, pairs, strict=True)
            if not is_exact(translation, pair)
        ]
        results.append(
            CountAccuracy(verses * VERSE, len(pairs) - len(wrong), len(pairs), tuple(wrong))
        )
    return tuple(results)


def held_out_pair(rng: random.Random, verses: int, *, seen_together: bool) -> Pair:
    """A held-out count of so many verses, whose colours occur together in training or do not."""
    while True:
        colours = rng.sample(sorted(COLOURS), 3)
        first = rng.randint(1, MOST_VERSES - verses + 1)
        pair = counting_pair(colours, first, first + verses - 1)
        if is_held_out_count(pair.source) and seen_together != ({*colours} >= UNPAIRED):
            return pair


def cross_place_head(maps: Sequence[AttentionMap], source: str) -> PlaceHead:
    """The cross-attention head whose largest weight is most often on the colour it translates."""
    places = {COLOURS[colour]: place for place, colour in enumerate(source.split()[:3])}
    best: PlaceHead | None = None
    for attention in (attention for attention in maps if attention.role == "cross"):
        colour_rows = [row for row, word in enumerate(attention.target) if word in places]
        expected = torch.tensor([places[attention.target[row]] for row in colour_rows])
        for head, weights in enumerate(attention.weights, 1):
            hits = int((weights[colour_rows].argmax(-1) == expected).sum())
            if best is None or hits > best.hits:
                first, last = slice(0, FIRST_WORDS), slice(-LAST_WORDS - 1, None)
                best = PlaceHead(
                    layer=attention.layer,
                    head=head,
                    distance=0,
                    hits=hits,
                    steps=len(colour_rows),
                    columns=attention.source,
                    first_rows=attention.target[first],
                    first_weights=weights[first],
                    last_rows=attention.target[last],
                    last_weights=weights[last],
                )
    assert best is not None
    return best


def self_place_head(maps: Sequence[AttentionMap]) -> PlaceHead:
    """The decoder head whose largest weight is most often at one distance from the next word.

    Only distances of more than one word count, so that a head that repeats its input is left out.
    """
    best: PlaceHead | None = None
    for attention in (attention for attention in maps if attention.role == "decoder_self"):
        for head, weights in enumerate(attention.weights, 1):
            distances = _distances(weights)
            distance = int(distances[distances > 1].mode().values) if (distances > 1).any() else 0
            hits = int((distances == distance).sum())
            if best is None or hits > best.hits:
                shown = slice(0, FIRST_WORDS)
                best = PlaceHead(
                    layer=attention.layer,
                    head=head,
                    distance=distance,
                    hits=hits,
                    steps=len(distances),
                    columns=attention.source[shown],
                    first_rows=attention.target[shown],
                    first_weights=weights[shown, shown],
                )
    assert best is not None
    return best


def _distances(weights: Float[Tensor, "T T"]) -> Int[Tensor, " N"]:
    """How far before the word being written the largest weight lies, after the first verse."""
    rows = torch.arange(len(weights))
    return (rows + 1 - weights.argmax(-1))[VERSE + 1 :]


def _parse(sentence: str) -> Pair:
    """The count that a sentence asks for."""
    words = sentence.split()
    colours, numbers = words[:3], [word for word in words[3::2] if word.isdecimal()]
    valid = len(words) == 6 and words[4] == "to" and len(numbers) == 2
    if not valid or not {*colours} <= {*COLOURS} or len({*colours}) < 3:
        raise UserError(
            f"sentence: {sentence!r}; give three colours and two numbers, such as {SENTENCE!r}; "
            f"colours: {', '.join(COLOURS)}"
        )
    first, last = map(int, numbers)
    if not 1 <= first <= last <= MOST_VERSES:
        raise UserError(f"sentence: {sentence!r}; count upwards, from 1 at least to {MOST_VERSES}")
    return counting_pair(colours, first, last)


def _correct_words(output: str, reference: str) -> int:
    """The number of words before the first that differs."""
    words, right = output.split(), reference.split()
    return next(
        (place for place, (a, b) in enumerate(zip(words, right, strict=False)) if a != b),
        min(len(words), len(right)),
    )


def _excerpt(output: str) -> str:
    words = output.split()
    if len(words) <= 5 * VERSE:
        return output
    return f"{' '.join(words[: 3 * VERSE])} … {' '.join(words[-2 * VERSE :])}"
