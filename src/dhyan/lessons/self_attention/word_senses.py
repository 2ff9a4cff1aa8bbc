"""Word-sense probing: whether a trained encoder's states separate an ambiguous word's meanings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import mean, stdev

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from dhyan.data.primer import SentencePair
from dhyan.data.primer.ambiguous_words import disambiguated_sentence
from dhyan.data.primer.lexicon import Sense, read_lexicon
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.vocabulary_subsets import ambiguous_words
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, Point, ScatterPlot, Table, heatmap
from dhyan.insight.probes import (
    NORMAL,
    ProbeResult,
    between_group_variance,
    logistic,
    principal_plane,
    reinitialised_encoder,
    transformer_encoder,
    word_vectors,
)
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import (
    CORE,
    SEED,
    knows_every_word,
    load_translator,
    select_known_sentences,
)

FEWEST = 20  # sentences per meaning to fit a probe, and to test it
FEW, DRAWS = 5, 30  # sentences per meaning of a few-shot probe, and how often they are drawn
STEP = 1 << 40  # distance between the seeds of training and test sentences
STATIC, WITH_POSITION, UNTRAINED = "its own vector", "with its position", "untrained encoder"


@dataclass(frozen=True)
class Level:
    """Accuracy of a probe on a word's vectors at one level of the encoder.

    `few` is the mean accuracy of few-shot probes, and `few_error` its standard error over the
    draws; `between_variance` is the share of the vectors' variance between the means of the
    meanings. Only a trained encoder's layers have a `layer`.
    """

    name: str
    layer: int
    probe: ProbeResult
    few: float
    few_error: float
    between_variance: float

    def more_of_few(self, other: "Level") -> bool:
        """Whether a few-shot probe is clearly more accurate at this level than at the other."""
        error = (self.few_error**2 + other.few_error**2) ** 0.5
        return self.few - other.few > NORMAL * error


@dataclass(frozen=True)
class WordSenses:
    """An ambiguous word, its meanings in Hindi, and every level.

    The probe is fitted on `fitted` sentences with word pairings of the training data, and tested on
    held-out pairings; both sets are balanced, so chance is the same for every meaning.
    """

    word: str
    senses: tuple[str, ...]
    fitted: int
    levels: tuple[Level, ...]

    def level(self, name: str) -> Level:
        """The level of a name."""
        return next(level for level in self.levels if level.name == name)

    @property
    def last(self) -> Level:
        """The trained encoder's last layer."""
        return max(self.levels, key=lambda level: level.layer)

    @property
    def chance_level(self) -> float:
        """Accuracy of guessing."""
        return 1 / len(self.senses)


def contexts(word: str, *, novel: bool, seed: int) -> Iterator[SentencePair]:
    """Sentences with an ambiguous word, in pairings of the training data or held-out ones."""
    core = CORE if word in ambiguous_words(CORE) else 1.0
    for seed_offset in count((2 * seed + novel) * STEP):
        pair = disambiguated_sentence(SentenceBuilder(seed_offset, held_out=novel, core_share=core))
        if pair.checks[0].about == word:
            yield pair


def meanings(word: str) -> tuple[Sense, ...]:
    """The meanings of a word."""
    return read_lexicon().senses[word]


def sense_of(pair: SentencePair) -> int:
    """Index of the word's meaning in this sentence."""
    [check] = pair.checks
    forms = [{" ".join(form) for form in meaning.noun.hindi} for meaning in meanings(check.about)]
    return next(index for index, form in enumerate(forms) if check.right[0] in form)


def probe_senses(
    translator: Translator, word: str, sentences: int, seed: int
) -> tuple[WordSenses, Int[Tensor, " M"], list[Float[Tensor, "M D"]]]:
    """Fit probes on pairings of the training data and test them on held-out ones.

    Also returns the meanings of the test sentences, and their vectors at each level.
    """
    encoder = transformer_encoder(translator)
    (fit, fit_senses), (test, test_senses) = (
        _balanced(translator, word, novel=novel, sentences=sentences, seed=seed)
        for novel in (False, True)
    )
    x, y = (word_vectors(encoder, translator, part, word) for part in (fit, test))
    fresh = reinitialised_encoder(encoder, seed)
    x, y = (
        [*vectors, word_vectors(fresh, translator, part, word)[-1]]
        for vectors, part in ((x, fit), (y, test))
    )
    layers = len(x) - 3
    names = (STATIC, WITH_POSITION, *(f"layer {layer + 1}" for layer in range(layers)), UNTRAINED)
    levels = tuple(
        _level(
            name,
            index - 1 if 1 < index < 2 + layers else 0,
            (fit_vectors, fit_senses),
            (test_vectors, test_senses),
        )
        for index, (name, fit_vectors, test_vectors) in enumerate(zip(names, x, y, strict=True))
    )
    hindi = tuple(" ".join(meaning.noun.hindi[0]) for meaning in meanings(word))
    return WordSenses(word, hindi, len(fit), levels), test_senses, y


Labelled = tuple[Float[Tensor, "N D"], Int[Tensor, " N"]]


def _level(name: str, layer: int, fit: Labelled, test: Labelled) -> Level:
    shares = [
        logistic((fit[0][subset], fit[1][subset]), test).share
        for subset in (_few(fit[1], seed) for seed in range(DRAWS))
    ]
    error = stdev(shares) / DRAWS**0.5
    return Level(
        name, layer, logistic(fit, test), mean(shares), error, between_group_variance(*test)
    )


def _few(labels: Int[Tensor, " N"], seed: int) -> Int[Tensor, " F"]:
    """Indices of a few random examples of each class."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=generator)
    return torch.cat([order[labels[order] == label][:FEW] for label in labels.unique()])


def _balanced(
    translator: Translator, word: str, *, novel: bool, sentences: int, seed: int
) -> tuple[list[str], Int[Tensor, " N"]]:
    """Equally many sentences of each meaning, alternating, and the index of each one's meaning."""
    senses = range(len(meanings(word)))
    if not knows_every_word(translator, word):
        raise UserError(f"words: this model does not know {word!r}; choose another word")

    def of(sense: int) -> list[SentencePair]:
        pairs = contexts(word, novel=novel, seed=seed)
        return select_known_sentences(
            translator, pairs, sentences // len(senses), lambda pair: sense_of(pair) == sense
        )

    by_sense = [of(sense) for sense in senses]
    least = min(map(len, by_sense))
    if least < FEWEST:
        raise UserError(
            f"words: this model knows the words of only {least} sentences of a meaning of "
            f"{word!r}; it takes {FEWEST}"
        )
    turns = zip(*(pairs[:least] for pairs in by_sense), strict=True)
    return [pair.english for turn in turns for pair in turn], torch.tensor([*senses] * least)


# The ambiguous words in the vocabulary of the trained runs.
WORDS = ("bank", "bat", "chest", "court", "date", "file", "letter", "trunk")
PLOTTED = 120  # sentences in the scatter plot
LEVEL_KEYS = {
    STATIC: "own_vector",
    WITH_POSITION: "with_position",
    UNTRAINED: "level_untrained_encoder",
}


@dataclass(frozen=True)
class WordSenseProbes(LessonResult):
    """Probes of each word; the first word's vectors on principal axes, untrained and trained."""

    words: tuple[WordSenses, ...]
    senses: Int[Tensor, " N"]
    before: Float64[Tensor, "N 2"]
    before_explained: Float64[Tensor, " 2"]
    after: Float64[Tensor, "N 2"]
    after_explained: Float64[Tensor, " 2"]

    def title(self, text: Text) -> str:
        """The title, with its numbers."""
        return text("title", word=self.words[0].word)

    def blocks(self, text: Text) -> Iterator[Block]:
        """The first word level by level and as a scatter plot, then all words."""
        first = self.words[0]
        yield Paragraph(self._describe_probe(text))
        yield _levels(first, text)
        yield Paragraph(_gained(first, text))
        yield self._plane(text("scatter_untrained"), self.before, self.before_explained)
        yield self._plane(text("scatter_trained"), self.after, self.after_explained)
        yield Paragraph(self._training_effects(text))
        yield self._every(text)
        if below := self._below(text):
            yield Paragraph(below)

    def _describe_probe(self, text: Text) -> str:
        first = self.words[0]
        senses, total = ", ".join(first.senses), first.levels[0].probe.total
        return text("setup", word=first.word, senses=senses, total=total, few=FEW)

    def _plane(
        self, title: str, coordinates: Float64[Tensor, "N 2"], explained: Float64[Tensor, " 2"]
    ) -> ScatterPlot:
        across, up = (round(100 * float(share)) for share in explained)
        points = tuple(
            Point("", x, y, group=sense)
            for (x, y), sense in zip(coordinates.tolist(), self.senses.tolist(), strict=True)
        )
        return ScatterPlot(f"{title}, {across} % + {up} %", points, groups=self.words[0].senses)

    def _training_effects(self, text: Text) -> str:
        """For how many words training separates the meanings."""
        more = sum(word.last.more_of_few(word.level(UNTRAINED)) for word in self.words)
        less = sum(word.level(UNTRAINED).more_of_few(word.last) for word in self.words)
        wider = sum(
            word.last.between_variance > word.level(UNTRAINED).between_variance
            for word in self.words
        )
        count = len(self.words)
        if count == 1:
            return _training_effect(more, less, text)
        return text(
            "learned_over_words",
            count=count,
            few=FEW,
            more=more,
            less=less,
            wider=wider,
            therefore=self._therefore(more, text),
        )

    def _therefore(self, more: int, text: Text) -> str:
        if more == len(self.words):
            return text("training_separates_all")
        if 2 * more > len(self.words):
            return text("training_separates_most")
        return text("training_does_not_separate")

    def _below(self, text: Text) -> str:
        """The words whose position probe is below chance."""
        below = [
            f"{word.word} {word.level(WITH_POSITION).probe.share:.2f}"
            for word in self.words
            if word.level(WITH_POSITION).probe.interval[1] < word.chance_level
        ]
        if not below:
            return ""
        return text("position_below_chance", below=", ".join(below))

    def _every(self, text: Text) -> Table:
        rows = []
        for word in self.words:
            last, untrained, with_position = (
                word.last,
                word.level(UNTRAINED),
                word.level(WITH_POSITION),
            )
            shares = (
                word.chance_level,
                with_position.probe.share,
                untrained.probe.share,
                last.probe.share,
            )
            rows.append(
                (
                    *shares,
                    untrained.few,
                    last.few,
                    untrained.between_variance,
                    last.between_variance,
                )
            )
        columns = (
            text("column_chance"),
            text("column_position"),
            text("column_untrained"),
            text("column_last_layer"),
            text("column_few_shot_untrained"),
            text("column_few_shot_last_layer"),
            text("column_variance_untrained"),
            text("column_variance_last_layer"),
        )
        return heatmap("", rows, [word.word for word in self.words], columns)


@lesson
def word_senses(
    model: str | Path | Translator | None = None,
    *,
    words: str | Sequence[str] = WORDS,
    sentences: int = 300,
    seed: int = SEED,
    on_progress: ProgressCallback | None = None,
) -> WordSenseProbes:
    """Probe a trained encoder for the meanings of words: the snapshot, or a run.

    A run takes about 4 seconds a word.
    """
    chosen_words = (words,) if isinstance(words, str) else tuple(words)
    if model is None or model == SNAPSHOT:
        if chosen_words != WORDS:
            raise UserError(
                f"words: the snapshot is of {', '.join(WORDS)}; for others give model=RUN, a "
                "folder of `dhyan train`"
            )
        return read_snapshot("word_senses", WordSenseProbes)
    sentences, seed = parse_int("sentences", sentences, least=100), parse_int("seed", seed, least=0)
    for word in chosen_words or ("",):
        if word not in ambiguous_words():
            raise UserError(
                f"words: {word!r} has no several meanings in the primer; there are "
                f"{', '.join(ambiguous_words())}"
            )
    translator = load_translator(model)
    results: list[WordSenses] = []
    for word in chosen_words:
        senses, labels, vectors = probe_senses(translator, word, sentences, seed)
        if not results:
            plotted_senses, before, after = (
                labels[:PLOTTED],
                vectors[-1][:PLOTTED],
                vectors[-2][:PLOTTED],
            )
        results.append(senses)
        if on_progress:
            on_progress(
                f"{word}: {senses.last.probe.share:.1%} of its meanings are read off the last layer"
            )
    return WordSenseProbes(
        tuple(results), plotted_senses, *principal_plane(before), *principal_plane(after)
    )


def _levels(word: WordSenses, text: Text) -> Table:
    rows = [
        (level.probe.share, *level.probe.interval, level.few, level.between_variance)
        for level in word.levels
    ]
    columns = (
        text("column_accuracy"),
        text("column_low"),
        text("column_high"),
        text("column_few_shot"),
        text("column_variance"),
    )
    names = [_name(level, text) for level in word.levels]
    return heatmap(word.word, rows, names, columns, digits=3)


def _name(level: Level, text: Text) -> str:
    if level.layer:
        return text("layer", layer=level.layer)
    return text(f"{LEVEL_KEYS[level.name]}")


def _gained(word: WordSenses, text: Text) -> str:
    """The last layer against the word with its position, and against an untrained encoder."""
    last, with_position, untrained = (
        word.last.probe,
        word.level(WITH_POSITION).probe,
        word.level(UNTRAINED).probe,
    )
    low, high = last.interval
    verdict = text(
        "last_layer_accuracy",
        share=last.share,
        low=low,
        high=high,
        position_share=with_position.share,
        chance_level=word.chance_level,
    )
    verdict += (
        text("gain_from_context")
        if low > max(with_position.interval[1], word.chance_level)
        else text("no_gain_from_context")
    )
    if untrained.interval[0] > with_position.interval[1]:
        return verdict + text("untrained_mixes_too", share=untrained.share)
    return verdict + text("untrained_accuracy", share=untrained.share)


def _training_effect(more: int, less: int, text: Text) -> str:
    """The effect of training on a single word."""
    effect = (
        text("effect_better") if more else text("effect_worse") if less else text("effect_none")
    )
    return text("learned_single_word", few=FEW, effect=effect)
