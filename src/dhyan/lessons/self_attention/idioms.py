"""Idioms by a trained model: what is meant, not what the words say; and what is needed for it."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path

from dhyan.data.primer import SentencePair, TranslationCheck, generate_sentences
from dhyan.data.primer.hindi_morphology import M
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.templates import fill_template, templates
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Table, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_words
from dhyan.lessons.probes import wilson
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.snapshots import SNAPSHOT, has_snapshot, read_snapshot
from dhyan.lessons.trained_model import (
    CORE,
    LONGEST,
    knows_every_word,
    load_translator,
    primer_sentences,
)

SENTENCES = 3000  # of training that words are looked up in
FILLED = 4  # times that each sentence of an idiom's own words is filled
PUNCTUATION = ".,?!\"'"
PLAIN = {"की": "का", "के": "का"}  # its form beside the next word is that word's doing


def idiomatic_words(about: str) -> tuple[str, ...]:
    """The words that a translation of an idiom that is meant must not say."""
    return next(template.wrong for template in templates("idiom") if template.about == about)


def is_idiomatic(twin: SentencePair) -> bool:
    """Whether the idiom is meant, or what its words say."""
    [wanted] = twin.wanted
    return wanted.wrong == idiomatic_words(wanted.about)


def translate_word_by_word(sentence: str) -> str:
    """Every word's own translation in the order of the English; one without any is left out.

    A word that is in no sentence looked at stays as it is.
    """
    words = dictionary()
    said = [
        words.get(word.strip(PUNCTUATION).lower(), word.strip(PUNCTUATION))
        for word in sentence.split()
    ]
    return " ".join(filter(None, said))


@cache
def dictionary() -> dict[str, str]:
    """For each English word the Hindi that names the same idea most often, perhaps nothing.

    A verb as a dictionary has it is so in Hindi too.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for twin in (*_literal(), *_plain()):
        for word, hindi in _word_pairs(twin):
            found[word][hindi] += 1
    best = {word: said.most_common(1)[0][0] for word, said in found.items()}
    for verb in read_lexicon().verbs:
        base = " ".join(verb.english.base)
        if best.get(base, "").startswith(verb.hindi.stem):
            best[base] = " ".join((*verb.hindi.before, verb.hindi.infinitive[M]))
    return best


def _word_pairs(twin: SentencePair) -> Iterator[tuple[str, str]]:
    """Each English word with its Hindi, unless it takes several English words to say it."""
    english, hindi = ([word for word in side if word[1] >= 0] for side in twin.words)
    naming = Counter(idea for _, idea, names in english if names)
    for word, idea, names in english:
        same = " ".join(said for said, other, also in hindi if names and also and other == idea)
        if not names or naming[idea] == 1:
            yield word.lower(), PLAIN.get(same, same)


def _literal() -> Iterable[SentencePair]:
    """The sentences in which an idiom's words mean what they say."""
    for number, template in enumerate(templates("idiom")):
        if template.wrong != idiomatic_words(template.about):
            yield from (
                fill_template(SentenceBuilder(FILLED * number + draw), template)
                for draw in range(FILLED)
            )


def _plain() -> Iterable[SentencePair]:
    made = islice(generate_sentences("train", longest=LONGEST, core=CORE), SENTENCES)
    return (twin for twin in made if not any(one.kind == "idiom" for one in twin.wanted))


CAKE, LEG = "a piece of cake", "break a leg"
NAMES = (("Ravi", "Asha"), ("Neha", "Amit"), ("Anil", "Lata"), ("Usha", "Mohan"))  # to fill A and B

IDIOMATIC = {
    CAKE: (
        "{A} thinks that the exam is a piece of cake.",
        "{A} said that the race was a piece of cake.",
        "The journey was a piece of cake for {A}.",
        "The game is a piece of cake for {A}.",
        "The exam was a piece of cake for {A} and {B}.",
        "Today, the exam was a piece of cake for {A}.",
        "{A} knew that the race was a piece of cake.",
        "The work is a piece of cake.",
    ),
    LEG: (
        "Break a leg in the race, {A}!",
        "{A}, break a leg in the game!",
        "{A} and {B}, break a leg!",
        "The girl told {A} to break a leg.",
        "{A} told the boy to break a leg.",
        "Today, {A} told {B} to break a leg.",
        "Break a leg tomorrow, {A}!",
        '{A} said, "Break a leg!"',
    ),
}
LITERAL = {
    CAKE: (
        "{A} wants a piece of cake.",
        "{A} sold a piece of cake to {B}.",
        "{A} cut a piece of cake.",
        "{A} and {B} ate a piece of cake.",
        "{A} ate a piece of cake in the bakery.",
        "The boy ate a piece of cake.",
        "There is a piece of cake on the table.",
        "A piece of cake is on the table.",
    ),
    LEG: (
        "{A} slipped and broke a leg.",
        "{A} and {B} broke a leg of the table.",
        "The boy broke a leg of the chair.",
        "{A} broke a leg of the bed.",
        "{A} fell and broke a leg of the stool.",
        "The man fell and broke a leg.",
        "The man broke a leg.",
        "{A} broke a leg yesterday.",
        "Yesterday, {A} broke a leg of the bed.",
    ),
}
EXPECTED = {CAKE: ("बाएँ हाथ का खेल", "केक"), LEG: ("शुभकामनाएँ", "टाँग")}  # if meant, and if not


@dataclass(frozen=True)
class FrameSentence:
    """A sentence and the frame it fills, whether its idiom is meant, and what must be said."""

    frame: str
    english: str
    meant: bool
    wanted: TranslationCheck


def frame_sentences(translator: Translator) -> list[FrameSentence]:
    """Every frame with several names, where the model knows all its words."""
    found = [
        FrameSentence(
            frame,
            english,
            meant,
            TranslationCheck("idiom", about, *_expected_words(about, meant=meant)),
        )
        for meant, frames in ((True, IDIOMATIC), (False, LITERAL))
        for about, own in frames.items()
        for frame in own
        for english in dict.fromkeys(frame.format(A=one, B=other) for one, other in NAMES)
    ]
    return [one for one in found if knows_every_word(translator, one.english)]


def _expected_words(about: str, *, meant: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    idiom, word = EXPECTED[about]
    return ((idiom,), (word,)) if meant else ((word,), (idiom,))


CLEAR = 0.05  # a difference between two shares that counts
MEAN, LEARNED = "mean", "learned Q, K, V"
RAW, COSINE = "parameter-free", "parameter-free, cosine"
MIXER_KEYS = {
    "commonest reading": "commonest_reading",
    "none": "no_mixer",
    "mean": "mean",
    "parameter-free": "parameter_free",
    "parameter-free, cosine": "cosine",
    "learned V": "learned_v",
    "learned Q, K": "learned_q_k",
    "learned Q, K, V": "learned_q_k_v",
}


@dataclass(frozen=True)
class MixerScores:
    """A mixer: what it learns, and the shares it reads rightly, means of five seeds.

    `seen` are idioms in sentences like those of training, `new` in sentences it never shows, whose
    seeds lie in `spread`; `senses` are words of several meanings in contexts it never shows.
    """

    name: str
    parameters: int
    seen: float
    new: float
    senses: float
    spread: tuple[float, float]


@dataclass(frozen=True)
class LadderScores:
    """A Transformer of the measured ladder: the shares of idioms and contexts it understood."""

    name: str
    idiom: float
    context: float


@dataclass(frozen=True)
class MixerComparison:
    """Mixers with all else held fixed, and whole models that differ in their encoder's looking."""

    mixers: tuple[MixerScores, ...]
    ladder: tuple[LadderScores, ...]

    def parts(self, text: Text) -> tuple[Part, ...]:
        """Both tables, and what they say of the notes' claim."""
        shares = [[mixer.seen, mixer.new, mixer.senses] for mixer in self.mixers]
        columns = (text("idioms.seen_idioms"), text("idioms.new_idioms"), text("idioms.new_senses"))
        understood = [
            [100 * model_scores.idiom, 100 * model_scores.context] for model_scores in self.ladder
        ]
        return (
            Words(text("idioms.learned_q_k_v")),
            table(
                "",
                shares,
                [text(f"idioms.mixer_{MIXER_KEYS[mixer.name]}") for mixer in self.mixers],
                columns,
                kind="weights",
                digits=3,
            ),
            table(
                text("idioms.understood_3"),
                understood,
                [model_scores.name for model_scores in self.ladder],
                (text("idioms.idioms"), text("idioms.senses")),
                digits=1,
            ),
            Words(self.verdict(text)),
        )

    def verdict(self, text: Text) -> str:
        """What the figures say of the notes' claim, case by case."""
        by_name = {mixer.name: mixer for mixer in self.mixers}
        learned = by_name[LEARNED]
        low, high = learned.spread
        least = min(model_scores.idiom for model_scores in self.ladder)
        return " ".join(
            (
                text("idioms.notes_say_attention_without"),
                *(compare_mixers(learned, by_name[name], text) for name in (RAW, COSINE, MEAN)),
                text("idioms.new_idioms_five_seeds", low=low, high=high),
                text("idioms.whole_transformers_decoder_looks", least=least),
            )
        )


def compare_mixers(learned: MixerScores, other: MixerScores, text: Text) -> str:
    """Where learned queries, keys and values read more than another mixer, and where less."""
    kinds = (
        (text("idioms.seen_idioms_2"), learned.seen - other.seen),
        (text("idioms.new_idioms_2"), learned.new - other.new),
        (text("idioms.new_senses_2"), learned.senses - other.senses),
    )
    at = text("idioms.in_suffix")
    told = ", ".join(f"{kind}{at} {100 * gain:+.1f}" for kind, gain in kinds).replace("-", "−")
    gained, lost, even = (
        ", ".join(kind for kind, gain in kinds if way == (gain > CLEAR) - (gain < -CLEAR))
        for way in (1, -1, 0)
    )
    if not (lost or even):
        held = text("idioms.against_claim_holds")
    elif not gained:
        held = text("idioms.against_claim_hold")
    else:
        held = text("idioms.gain", gained=gained)
    if lost:
        held += text("idioms.lose", lost=lost)
    if even:
        held += text("idioms.tie", even=even)
    return text(
        "idioms.against_learned_q_k",
        name=text(f"idioms.form_{MIXER_KEYS[other.name]}"),
        told=told,
        held=held,
    )


ENOUGH = 0.9  # of the sentences in new frames: with less it is the frame that counts


@dataclass(frozen=True)
class IdiomTranslation:
    """A sentence, its translation, and what its words say one by one.

    Where it is not known whether the idiom is `meant`, it is not judged whether that is `met`.
    """

    sentence: str
    translation: str
    by_word: str
    meant: bool | None = None
    met: bool | None = None


@dataclass(frozen=True)
class IdiomCounts:
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

    examples: tuple[IdiomTranslation, ...]
    counted: tuple[IdiomCounts, ...]
    new: tuple[IdiomCounts, ...]
    frames: tuple[int, int]
    needed: MixerComparison | None = None

    def page(self, text: Text) -> Page:
        """The sentences, the shares, and whether learned queries, keys and values do it."""
        return Page(
            text("idioms.title"),
            (
                *(Words(_describe(example, text)) for example in self.examples),
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
    on_progress: Callable[[str], None] | None = None,
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
    own = (
        None if sentence is None else (_translate_own(translator, " ".join(parse_words(sentence))),)
    )
    asked = measure_idioms(translator, sentences, on_progress)
    return replace(asked, examples=own or asked.examples, needed=_snapshot_measures())


def measure_idioms(
    translator: Translator, sentences: int = 300, on_progress: Callable[[str], None] | None = None
) -> Idioms:
    """What a model makes of the primer's test and of the new frames."""
    counted, told = _test_primer(translator, sentences, on_progress)
    return Idioms(told, counted, *_test_frames(translator, on_progress))


def _snapshot_measures() -> MixerComparison | None:
    """The measurements that hang on no model of the reader's, if any are kept."""
    if not has_snapshot("idioms"):
        return None
    found = read_snapshot("idioms")
    assert isinstance(found, Idioms)
    return found.needed


def _test_primer(
    translator: Translator, sentences: int, on_progress: Callable[[str], None] | None
) -> tuple[tuple[IdiomCounts, ...], tuple[IdiomTranslation, ...]]:
    """The primer's test by idiom, and the first sentence of each reading of the notes' two."""
    twins = primer_sentences(translator, "idiom", sentences)
    said = _translate(translator, [pair.english for pair in twins], on_progress)
    asked = [
        (pair.wanted[0], is_idiomatic(pair), pair.wanted[0].passes(text))
        for pair, text in zip(twins, said, strict=True)
    ]
    examples: dict[tuple[str, bool], IdiomTranslation] = {}
    for twin, text, (wanted, meant, met) in zip(twins, said, asked, strict=True):
        if (key := (wanted.about, meant)) not in examples:
            by_word = translate_word_by_word(twin.english) if wanted.about in (CAKE, LEG) else ""
            examples[key] = IdiomTranslation(twin.english, text, by_word, meant, met)
    order = [(about, meant) for about in (CAKE, LEG) for meant in (True, False)]
    return _count(asked), tuple(examples[key] for key in order if key in examples)


def _test_frames(
    translator: Translator, on_progress: Callable[[str], None] | None
) -> tuple[tuple[IdiomCounts, ...], tuple[int, int]]:
    """The same question in frames that the primer does not have."""
    asked = frame_sentences(translator)
    said = _translate(translator, [one.english for one in asked], on_progress)
    met = [one.wanted.passes(text) for one, text in zip(asked, said, strict=True)]
    judged = [(one.wanted, one.meant, right) for one, right in zip(asked, met, strict=True)]
    frames = {one.frame for one in asked}
    missed = {one.frame for one, right in zip(asked, met, strict=True) if not right}
    return _count(judged), (len(frames - missed), len(frames))


def _count(asked: Sequence[tuple[TranslationCheck, bool, bool]]) -> tuple[IdiomCounts, ...]:
    """By idiom: how often it was meant and understood, and how often neither."""
    found: list[IdiomCounts] = []
    for about in dict.fromkeys(wanted.about for wanted, _, _ in asked):
        own = [(meant, met) for wanted, meant, met in asked if wanted.about == about]
        found.append(
            IdiomCounts(
                about,
                sum(meant for meant, _ in own),
                sum(meant and met for meant, met in own),
                sum(not meant for meant, _ in own),
                sum(met and not meant for meant, met in own),
            )
        )
    return tuple(sorted(found, key=lambda one: one.about not in (CAKE, LEG)))


def _translate_own(translator: Translator, text: str) -> IdiomTranslation:
    """A reader's sentence, of which nothing says whether its idiom is meant."""
    if not knows_every_word(translator, text):
        strange = [word for word in text.split() if not knows_every_word(translator, word)]
        raise UserError(
            f"sentence: this model does not know {', '.join(strange)}; choose other words"
        )
    return IdiomTranslation(text, translator(text)[0].text, translate_word_by_word(text))


def _translate(
    translator: Translator, texts: Sequence[str], on_progress: Callable[[str], None] | None
) -> list[str]:
    def count(done: int) -> None:
        if on_progress:
            on_progress(f"translated {done} of {len(texts)}")

    return [one.text for one in translator(texts, on_progress=count)]


def _describe(one: IdiomTranslation, text: Text) -> str:
    """A sentence with its translation, and what its words would say."""
    found = f"“{one.sentence}” → {one.translation}"
    if one.meant is not None:
        wanted = text("idioms.meant") if one.meant else text("idioms.literal")
        met = text("idioms.understood") if one.met else text("idioms.understood_2")
        found += f" ({wanted}: {met})"
    return found + text("idioms.word_word", by_word=one.by_word)


def _sums(counted: Sequence[IdiomCounts]) -> tuple[int, int]:
    """How many were understood, and how many there were."""
    return sum(one.right for one in counted), sum(one.asked for one in counted)


def _table(title: str, counted: Sequence[IdiomCounts], text: Text) -> Table:
    """Understood and asked, meant and literal, for every idiom."""
    of = text("idioms.of")
    columns = (text("idioms.meant"), of, text("idioms.literal"), of)
    rows = [(one.meant_right, one.meant, one.literal_right, one.literal) for one in counted]
    return table(title, rows, [one.about for one in counted], columns)
