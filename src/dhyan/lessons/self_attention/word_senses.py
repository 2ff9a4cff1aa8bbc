"""A word of several meanings in a trained encoder: do its vectors part by what it means?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Float64, Int
from torch import Tensor

from dhyan.data.primer.core_vocabulary import ambiguous
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Plane, Point, Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.self_attention.probing import plane
from dhyan.lessons.self_attention.sense_probes import (
    ALONE,
    FEW,
    PLACED,
    STATIC,
    Level,
    WordSenses,
    probe_senses,
)
from dhyan.lessons.snapshots import SNAPSHOT, read_snapshot
from dhyan.lessons.trained_model import SEED, load_translator

# Those of the small world that the trained runs live in.
WORDS = ("bank", "bat", "chest", "court", "date", "file", "letter", "trunk")
DRAWN = 120  # sentences in the plane
LEVEL_KEYS = {STATIC: "own_vector", PLACED: "with_position", ALONE: "level_untrained_encoder"}


@dataclass(frozen=True)
class Senses(LessonResult):
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
        more = sum(one.last.more_of_few(one.level(ALONE)) for one in self.words)
        less = sum(one.level(ALONE).more_of_few(one.last) for one in self.words)
        wider = sum(one.last.apart > one.level(ALONE).apart for one in self.words)
        count = len(self.words)
        if count == 1:
            return _taught_one(more, less, text)
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
            f"{one.word} {one.level(PLACED).probed.share:.2f}"
            for one in self.words
            if one.level(PLACED).probed.interval[1] < one.chance
        ]
        if not below:
            return ""
        return text("word_senses.position_falls_below_chance", below=", ".join(below))

    def _every(self, text: Text) -> Table:
        rows = []
        for one in self.words:
            last, alone, placed = one.last, one.level(ALONE), one.level(PLACED)
            shares = (one.chance, placed.probed.share, alone.probed.share, last.probed.share)
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
        return table("", rows, [one.word for one in self.words], columns, kind="weights")


def word_senses(
    model: str | Path | Translator | None = None,
    *,
    words: str | Sequence[str] = WORDS,
    sentences: int = 300,
    seed: int = SEED,
    hear: Callable[[str], None] | None = None,
) -> Senses:
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
        assert isinstance(found, Senses)
        return found
    sentences, seed = parse_int("sentences", sentences, least=100), parse_int("seed", seed, least=0)
    for one in asked or ("",):
        if one not in ambiguous():
            raise UserError(
                f"words: {one!r} has no several meanings in the primer; there are "
                f"{', '.join(ambiguous())}"
            )
    translator = load_translator(model)
    probed: list[WordSenses] = []
    for one in asked:
        own, kinds, vectors = probe_senses(translator, one, sentences, seed)
        if not probed:
            shown, before, after = kinds[:DRAWN], vectors[-1][:DRAWN], vectors[-2][:DRAWN]
        probed.append(own)
        if hear:
            hear(f"{one}: {own.last.probed.share:.1%} of its meanings are read off the last layer")
    return Senses(tuple(probed), shown, *plane(before), *plane(after))


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


def _taught_one(more: int, less: int, text: Text) -> str:
    """What training did for a single word."""
    if more:
        way = text("word_senses.clearly_more")
    else:
        way = text("word_senses.clearly_less") if less else text("word_senses.more")
    return text("word_senses.learned_sentences_meaning_teach", few=FEW, way=way)
