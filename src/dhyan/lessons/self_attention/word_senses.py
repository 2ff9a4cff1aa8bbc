"""A word of several meanings in a trained encoder: do its vectors part by what it means?"""

from collections.abc import Callable, Iterator, Sequence
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
from dhyan.insight.blocks import Plane, Point, Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int
from dhyan.lessons.probes import (
    NORMAL,
    ProbeResult,
    between_group_variance,
    logistic,
    principal_plane,
    reinitialised_encoder,
    transformer_encoder,
    word_vectors,
)
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import CORE, SEED, knows_every_word, load_translator, take_known

FEWEST = 20  # sentences of a meaning to fit a probe on, and to ask it of
FEW, DRAWS = 5, 30  # sentences of a meaning that a probe may do with, and how often they are drawn
STEP = 1 << 40  # seeds of what is fitted and what is asked lie so far apart
STATIC, PLACED, ALONE = "its own vector", "with its position", "untrained encoder"


@dataclass(frozen=True)
class Level:
    """What a probe reads off a word's vectors at one place of the encoder.

    `few` is the mean share of probes that have seen only a few sentences of each meaning, and
    `few_error` its standard error over what they saw; `apart` is the share of the vectors' variance
    that lies between the means of the meanings. Only a trained encoder's layers have a `layer`.
    """

    name: str
    layer: int
    probed: ProbeResult
    few: float
    few_error: float
    apart: float

    def more_of_few(self, other: "Level") -> bool:
        """Whether a few sentences clearly teach more here than there."""
        error = (self.few_error**2 + other.few_error**2) ** 0.5
        return self.few - other.few > NORMAL * error


@dataclass(frozen=True)
class WordSenses:
    """A word, its meanings in Hindi, and every level.

    The probe is `fitted` on pairings that training has, and asked of others that it never shows;
    of both there are as many of each meaning, so that one is right by chance as often as another.
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
        return max(self.levels, key=lambda one: one.layer)

    @property
    def chance(self) -> float:
        """What is right without looking."""
        return 1 / len(self.senses)


def contexts(word: str, *, novel: bool, seed: int) -> Iterator[SentencePair]:
    """Sentences with a word of several meanings, in pairings that training has, or has not."""
    core = CORE if word in ambiguous_words(CORE) else 1.0
    for place in count((2 * seed + novel) * STEP):
        twin = disambiguated_sentence(SentenceBuilder(place, held_out=novel, core=core))
        if twin.wanted[0].about == word:
            yield twin


def meanings(word: str) -> tuple[Sense, ...]:
    """The meanings of a word."""
    return read_lexicon().senses[word]


def sense_of(twin: SentencePair) -> int:
    """Which of its meanings the word has."""
    [wanted] = twin.wanted
    forms = [{" ".join(form) for form in meaning.noun.hindi} for meaning in meanings(wanted.about)]
    return next(place for place, form in enumerate(forms) if wanted.right[0] in form)


def probe_senses(
    translator: Translator, word: str, sentences: int, seed: int
) -> tuple[WordSenses, Int[Tensor, " M"], list[Float[Tensor, "M D"]]]:
    """Fit on what training pairs, ask of what it does not.

    Also the test's meanings, and its vectors at each level.
    """
    encoder = transformer_encoder(translator)
    (fit, a), (test, b) = (
        _balanced(translator, word, novel=novel, sentences=sentences, seed=seed)
        for novel in (False, True)
    )
    x, y = (word_vectors(encoder, translator, part, word) for part in (fit, test))
    fresh = reinitialised_encoder(encoder, seed)
    x, y = (
        [*own, word_vectors(fresh, translator, part, word)[-1]]
        for own, part in ((x, fit), (y, test))
    )
    layers = len(x) - 3
    names = (STATIC, PLACED, *(f"layer {one + 1}" for one in range(layers)), ALONE)
    levels = tuple(
        _level(name, place - 1 if 1 < place < 2 + layers else 0, (one, a), (other, b))
        for place, (name, one, other) in enumerate(zip(names, x, y, strict=True))
    )
    hindi = tuple(" ".join(meaning.noun.hindi[0]) for meaning in meanings(word))
    return WordSenses(word, hindi, len(fit), levels), b, y


Labelled = tuple[Float[Tensor, "N D"], Int[Tensor, " N"]]


def _level(name: str, layer: int, fit: Labelled, test: Labelled) -> Level:
    shares = [
        logistic((fit[0][own], fit[1][own]), test).share
        for own in (_few(fit[1], seed) for seed in range(DRAWS))
    ]
    error = stdev(shares) / DRAWS**0.5
    return Level(
        name, layer, logistic(fit, test), mean(shares), error, between_group_variance(*test)
    )


def _few(kinds: Int[Tensor, " N"], seed: int) -> Int[Tensor, " F"]:
    """The places of a few of each kind."""
    chances = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(kinds), generator=chances)
    return torch.cat([order[kinds[order] == kind][:FEW] for kind in kinds.unique()])


def _balanced(
    translator: Translator, word: str, *, novel: bool, sentences: int, seed: int
) -> tuple[list[str], Int[Tensor, " N"]]:
    """As many sentences of each meaning, in turn, and which it is."""
    kinds = range(len(meanings(word)))
    if not knows_every_word(translator, word):
        raise UserError(f"words: this model does not know {word!r}; choose another word")

    def of(kind: int) -> list[SentencePair]:
        made = contexts(word, novel=novel, seed=seed)
        return take_known(
            translator, made, sentences // len(kinds), lambda twin: sense_of(twin) == kind
        )

    own = [of(kind) for kind in kinds]
    least = min(map(len, own))
    if least < FEWEST:
        raise UserError(
            f"words: this model knows the words of only {least} sentences of a meaning of "
            f"{word!r}; it takes {FEWEST}"
        )
    turns = zip(*(part[:least] for part in own), strict=True)
    return [one.english for turn in turns for one in turn], torch.tensor([*kinds] * least)


# Those of the small world that the trained runs live in.
WORDS = ("bank", "bat", "chest", "court", "date", "file", "letter", "trunk")
PLOTTED = 120  # sentences in the plane
LEVEL_KEYS = {STATIC: "own_vector", PLACED: "with_position", ALONE: "level_untrained_encoder"}


@dataclass(frozen=True)
class WordSenseProbes(LessonResult):
    """Each word's levels, and the first word's vectors in the plane, before and after training."""

    words: tuple[WordSenses, ...]
    kinds: Int[Tensor, " N"]
    before: Float64[Tensor, "N 2"]
    before_explained: Float64[Tensor, " 2"]
    after: Float64[Tensor, "N 2"]
    after_explained: Float64[Tensor, " 2"]

    def page(self, text: Text) -> Page:
        """The first word level by level and in the plane, then all words."""
        first = self.words[0]
        return Page(
            text("word_senses.title", word=first.word),
            (
                Words(self._asked(text)),
                _levels(first, text),
                Words(_gained(first, text)),
                self._plane(
                    text("word_senses.untrained_encoder"), self.before, self.before_explained
                ),
                self._plane(
                    text("word_senses.trained_last_layer"), self.after, self.after_explained
                ),
                Words(self._taught(text)),
                self._every(text),
                *((Words(told),) if (told := self._below(text)) else ()),
            ),
        )

    def _asked(self, text: Text) -> str:
        first = self.words[0]
        senses, asked = ", ".join(first.senses), first.levels[0].probed.asked
        return text(
            "word_senses.trained_encoder_reads_sentences",
            word=first.word,
            senses=senses,
            asked=asked,
            few=FEW,
        )

    def _plane(
        self, title: str, places: Float64[Tensor, "N 2"], explained: Float64[Tensor, " 2"]
    ) -> Plane:
        across, up = (round(100 * float(one)) for one in explained)
        points = tuple(
            Point("", x, y, kind=kind)
            for (x, y), kind in zip(places.tolist(), self.kinds.tolist(), strict=True)
        )
        return Plane(f"{title}, {across} % + {up} %", points, kinds=self.words[0].senses)

    def _taught(self, text: Text) -> str:
        """In how many words training lays the meanings apart."""
        more = sum(word.last.more_of_few(word.level(ALONE)) for word in self.words)
        less = sum(word.level(ALONE).more_of_few(word.last) for word in self.words)
        wider = sum(word.last.apart > word.level(ALONE).apart for word in self.words)
        count = len(self.words)
        if count == 1:
            return _training_effect(more, less, text)
        return text(
            "word_senses.learned_words_sentences_meaning",
            count=count,
            few=FEW,
            more=more,
            less=less,
            wider=wider,
            therefore=self._therefore(more, text),
        )

    def _therefore(self, more: int, text: Text) -> str:
        if more == len(self.words):
            return text("word_senses.training_lays_meanings_word")
        if 2 * more > len(self.words):
            return text("word_senses.training_lays_most_them")
        return text("word_senses.training_lays_meanings_apart")

    def _below(self, text: Text) -> str:
        """That a position may tell less than chance, where it does."""
        below = [
            f"{word.word} {word.level(PLACED).probed.share:.2f}"
            for word in self.words
            if word.level(PLACED).probed.interval[1] < word.chance
        ]
        if not below:
            return ""
        return text("word_senses.position_falls_below_chance", below=", ".join(below))

    def _every(self, text: Text) -> Table:
        rows = []
        for word in self.words:
            last, alone, placed = word.last, word.level(ALONE), word.level(PLACED)
            shares = (word.chance, placed.probed.share, alone.probed.share, last.probed.share)
            rows.append((*shares, alone.few, last.few, alone.apart, last.apart))
        columns = (
            text("word_senses.chance"),
            text("word_senses.position"),
            text("word_senses.untrained"),
            text("word_senses.last"),
            text("word_senses.few_untr"),
            text("word_senses.few_last"),
            text("word_senses.apart_untr"),
            text("word_senses.apart_last"),
        )
        return table("", rows, [word.word for word in self.words], columns, kind="weights")


def word_senses(
    model: str | Path | Translator | None = None,
    *,
    words: str | Sequence[str] = WORDS,
    sentences: int = 300,
    seed: int = SEED,
    on_progress: Callable[[str], None] | None = None,
) -> WordSenseProbes:
    """Probe a trained encoder for the meanings of words: what was kept of one, or a run's own.

    A run takes about 4 seconds a word.
    """
    asked = (words,) if isinstance(words, str) else tuple(words)
    if model is None or model == SNAPSHOT:
        if asked != WORDS:
            raise UserError(
                f"words: the snapshot is of {', '.join(WORDS)}; for others give model=RUN, a "
                "folder of `dhyan train`"
            )
        found = read_snapshot("word_senses")
        assert isinstance(found, WordSenseProbes)
        return found
    sentences, seed = parse_int("sentences", sentences, least=100), parse_int("seed", seed, least=0)
    for one in asked or ("",):
        if one not in ambiguous_words():
            raise UserError(
                f"words: {one!r} has no several meanings in the primer; there are "
                f"{', '.join(ambiguous_words())}"
            )
    translator = load_translator(model)
    probed: list[WordSenses] = []
    for one in asked:
        own, kinds, vectors = probe_senses(translator, one, sentences, seed)
        if not probed:
            shown, before, after = kinds[:PLOTTED], vectors[-1][:PLOTTED], vectors[-2][:PLOTTED]
        probed.append(own)
        if on_progress:
            on_progress(
                f"{one}: {own.last.probed.share:.1%} of its meanings are read off the last layer"
            )
    return WordSenseProbes(tuple(probed), shown, *principal_plane(before), *principal_plane(after))


def _levels(one: WordSenses, text: Text) -> Table:
    rows = [
        (level.probed.share, *level.probed.interval, level.few, level.apart) for level in one.levels
    ]
    columns = (
        text("word_senses.right"),
        text("word_senses.from"),
        text("word_senses.to"),
        text("word_senses.few"),
        text("word_senses.apart"),
    )
    names = [_name(level, text) for level in one.levels]
    return table(one.word, rows, names, columns, kind="weights", digits=3)


def _name(level: Level, text: Text) -> str:
    if level.layer:
        return text("word_senses.layer", layer=level.layer)
    return text(f"word_senses.{LEVEL_KEYS[level.name]}")


def _gained(one: WordSenses, text: Text) -> str:
    """What the last layer has beyond the word and its place, and what weights by chance have."""
    last, placed, chance = one.last.probed, one.level(PLACED).probed, one.level(ALONE).probed
    low, high = last.interval
    told = text(
        "word_senses.last_layer_right_word",
        share=last.share,
        low=low,
        high=high,
        placed_share=placed.share,
        chance=one.chance,
    )
    told += (
        text("word_senses.gained_context")
        if low > max(placed.interval[1], one.chance)
        else text("word_senses.clear_gain_context")
    )
    if chance.interval[0] > placed.interval[1]:
        return told + text("word_senses.but_untrained_encoder_mixes", share=chance.share)
    return told + text("word_senses.untrained_encoder_gives", share=chance.share)


def _training_effect(more: int, less: int, text: Text) -> str:
    """What training did for a single word."""
    if more:
        way = text("word_senses.clearly_more")
    else:
        way = text("word_senses.clearly_less") if less else text("word_senses.more")
    return text("word_senses.learned_sentences_meaning_teach", few=FEW, way=way)
