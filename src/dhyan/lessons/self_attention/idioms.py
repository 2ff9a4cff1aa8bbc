"""Idioms by a trained model: what is meant, not what the words say; and what is needed for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dhyan.data.primer import Wanted
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.self_attention.mixers import Needed
from dhyan.lessons.self_attention.new_frames import CAKE, LEG, framed
from dhyan.lessons.self_attention.probing import wilson
from dhyan.lessons.self_attention.word_by_word import is_meant, word_by_word
from dhyan.lessons.snapshots import SNAPSHOT, has_snapshot, read_snapshot
from dhyan.lessons.trained_model import knows_every_word, load_translator, primer_sentences

ENOUGH = 0.9  # of the sentences in new frames: with less it is the frame that counts


@dataclass(frozen=True)
class Said:
    """A sentence, its translation, and what its words say one by one.

    Where it is not known whether the idiom is `meant`, it is not judged whether that is `met`.
    """

    sentence: str
    translation: str
    by_word: str
    meant: bool | None = None
    met: bool | None = None


@dataclass(frozen=True)
class Counted:
    """How many sentences of an idiom were asked and understood, if it is meant and if it is not."""

    about: str
    meant: int
    meant_right: int
    literal: int
    literal_right: int

    @property
    def asked(self) -> int:
        """All of them."""
        return self.meant + self.literal

    @property
    def right(self) -> int:
        """All that were understood."""
        return self.meant_right + self.literal_right


@dataclass(frozen=True)
class Idioms(LessonResult):
    """Examples, what was understood in the primer's test and in new frames, and what it takes.

    `frames` says how many new frames were understood whatever the names, and how many there are.
    """

    examples: tuple[Said, ...]
    counted: tuple[Counted, ...]
    new: tuple[Counted, ...]
    frames: tuple[int, int]
    needed: Needed | None = None

    def page(self, text: Text) -> Page:
        """The sentences, the shares, and whether learned queries, keys and values do it."""
        return Page(
            text("idioms.title"),
            (
                *(Words(_told(one, text)) for one in self.examples),
                Words(self._understood(text)),
                *self._shares(text),
                *self._fresh(text),
                *(self.needed.parts(text) if self.needed else ()),
            ),
        )

    def _understood(self, text: Text) -> str:
        right, asked = _sums(self.counted)
        low, high = wilson(right, asked)
        return text(
            "idioms.primer_test_sentences_understood",
            right=right,
            asked=asked,
            share=right / asked,
            low=low,
            high=high,
        )

    def _shares(self, text: Text) -> tuple[Table, ...]:
        """Every idiom, in two tables side by side."""
        half = (len(self.counted) + 1) // 2
        parts = (self.counted[:half], self.counted[half:])
        return tuple(_table("", part, text) for part in parts if part)

    def _fresh(self, text: Text) -> tuple[Part, ...]:
        """The same in frames that training never shows."""
        if not self.new:
            return ()
        right, asked = _sums(self.new)
        whole, frames = self.frames
        found = text(
            "idioms.frames_training_never_shows",
            right=right,
            asked=asked,
            whole=whole,
            frames=frames,
        )
        if right < ENOUGH * asked:
            found += text("idioms.frame_counts_idiom_alone")
        elif whole < frames:
            found += text("idioms.hangs_little_frames_training")
        else:
            found += text("idioms.hang_frames_training")
        return Words(found), _table(text("idioms.new_frames"), self.new, text)


def idioms(
    model: str | Path | Translator | None = None,
    *,
    sentence: str | Sequence[str] | None = None,
    sentences: int = 300,
    hear: Callable[[str], None] | None = None,
) -> Idioms:
    """Idioms as a trained model translates them: what was kept of one, or by a run's own.

    A run of the primer takes about 10 seconds.
    """
    if model is None or model == SNAPSHOT:
        if sentence is not None:
            raise UserError(
                "sentence: the snapshot cannot translate it; give model=RUN, a folder of "
                "`dhyan train primer`"
            )
        found = read_snapshot("idioms")
        assert isinstance(found, Idioms)
        return found
    translator, sentences = load_translator(model), parse_int("sentences", sentences, least=20)
    own = None if sentence is None else (_own(translator, " ".join(parse_words(sentence))),)
    asked = ask_idioms(translator, sentences, hear)
    return replace(asked, examples=own or asked.examples, needed=_kept_measures())


def ask_idioms(
    translator: Translator, sentences: int = 300, hear: Callable[[str], None] | None = None
) -> Idioms:
    """What a model makes of the primer's test and of the new frames."""
    counted, told = _tested(translator, sentences, hear)
    return Idioms(told, counted, *_new(translator, hear))


def _kept_measures() -> Needed | None:
    """The measurements that hang on no model of the reader's, if any are kept."""
    if not has_snapshot("idioms"):
        return None
    found = read_snapshot("idioms")
    assert isinstance(found, Idioms)
    return found.needed


def _tested(
    translator: Translator, sentences: int, hear: Callable[[str], None] | None
) -> tuple[tuple[Counted, ...], tuple[Said, ...]]:
    """The primer's test by idiom, and the first sentence of each reading of the notes' two."""
    twins = primer_sentences(translator, "idiom", sentences)
    said = _translated(translator, [one.english for one in twins], hear)
    asked = [
        (one.wanted[0], is_meant(one), one.wanted[0].met(text))
        for one, text in zip(twins, said, strict=True)
    ]
    examples: dict[tuple[str, bool], Said] = {}
    for twin, text, (wanted, meant, met) in zip(twins, said, asked, strict=True):
        if (key := (wanted.about, meant)) not in examples:
            by_word = word_by_word(twin.english) if wanted.about in (CAKE, LEG) else ""
            examples[key] = Said(twin.english, text, by_word, meant, met)
    order = [(about, meant) for about in (CAKE, LEG) for meant in (True, False)]
    return _counted(asked), tuple(examples[key] for key in order if key in examples)


def _new(
    translator: Translator, hear: Callable[[str], None] | None
) -> tuple[tuple[Counted, ...], tuple[int, int]]:
    """The same question in frames that the primer does not have."""
    asked = framed(translator)
    said = _translated(translator, [one.english for one in asked], hear)
    met = [one.wanted.met(text) for one, text in zip(asked, said, strict=True)]
    judged = [(one.wanted, one.meant, right) for one, right in zip(asked, met, strict=True)]
    frames = {one.frame for one in asked}
    missed = {one.frame for one, right in zip(asked, met, strict=True) if not right}
    return _counted(judged), (len(frames - missed), len(frames))


def _counted(asked: Sequence[tuple[Wanted, bool, bool]]) -> tuple[Counted, ...]:
    """By idiom: how often it was meant and understood, and how often neither."""
    found: list[Counted] = []
    for about in dict.fromkeys(wanted.about for wanted, _, _ in asked):
        own = [(meant, met) for wanted, meant, met in asked if wanted.about == about]
        found.append(
            Counted(
                about,
                sum(meant for meant, _ in own),
                sum(meant and met for meant, met in own),
                sum(not meant for meant, _ in own),
                sum(met and not meant for meant, met in own),
            )
        )
    return tuple(sorted(found, key=lambda one: one.about not in (CAKE, LEG)))


def _own(translator: Translator, text: str) -> Said:
    """A reader's sentence, of which nothing says whether its idiom is meant."""
    if not knows_every_word(translator, text):
        strange = [one for one in text.split() if not knows_every_word(translator, one)]
        raise UserError(
            f"sentence: this model does not know {', '.join(strange)}; choose other words"
        )
    return Said(text, translator(text)[0].text, word_by_word(text))


def _translated(
    translator: Translator, texts: Sequence[str], hear: Callable[[str], None] | None
) -> list[str]:
    def count(done: int) -> None:
        if hear:
            hear(f"translated {done} of {len(texts)}")

    return [one.text for one in translator(texts, on_progress=count)]


def _told(one: Said, text: Text) -> str:
    """A sentence with its translation, and what its words would say."""
    found = f"“{one.sentence}” → {one.translation}"
    if one.meant is not None:
        wanted = text("idioms.meant") if one.meant else text("idioms.literal")
        met = text("idioms.understood") if one.met else text("idioms.understood_2")
        found += f" ({wanted}: {met})"
    return found + text("idioms.word_word", by_word=one.by_word)


def _sums(counted: Sequence[Counted]) -> tuple[int, int]:
    """How many were understood, and how many there were."""
    return sum(one.right for one in counted), sum(one.asked for one in counted)


def _table(title: str, counted: Sequence[Counted], text: Text) -> Table:
    """Understood and asked, meant and literal, for every idiom."""
    of = text("idioms.of")
    columns = (text("idioms.meant"), of, text("idioms.literal"), of)
    rows = [(one.meant_right, one.meant, one.literal_right, one.literal) for one in counted]
    return table(title, rows, [one.about for one in counted], columns)
