"""Idiom translation by a trained model, and whether it needs learned queries, keys and values."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
from dhyan.insight.lesson_blocks import Block, Paragraph, Table, heatmap, table
from dhyan.insight.probes import wilson
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int, parse_words
from dhyan.lessons.snapshots import SNAPSHOT, has_snapshot, read_snapshot
from dhyan.lessons.trained_model import (
    CORE,
    LONGEST,
    knows_every_word,
    load_translator,
    primer_sentences,
)

SENTENCES = 3000  # training sentences the dictionary is counted from
FILLED = 4  # draws of each literal template
PUNCTUATION = ".,?!\"'"
PLAIN = {"की": "का", "के": "का"}  # the form agrees with the next word


def idiomatic_words(about: str) -> tuple[str, ...]:
    """The literal words that the translation of an idiom must not contain."""
    return next(template.wrong for template in templates("idiom") if template.about == about)


def is_idiomatic(pair: SentencePair) -> bool:
    """Whether the sentence uses the idiom, rather than its words literally."""
    [check] = pair.checks
    return check.wrong == idiomatic_words(check.about)


def translate_word_by_word(sentence: str) -> str:
    """Word-by-word translation in English order; a word without a translation is left out.

    A word that is not in the dictionary stays as it is.
    """
    word_translations = dictionary()
    translations = [
        word_translations.get(word.strip(PUNCTUATION).lower(), word.strip(PUNCTUATION))
        for word in sentence.split()
    ]
    return " ".join(filter(None, translations))


@cache
def dictionary() -> dict[str, str]:
    """Most frequent Hindi translation of each English word, possibly empty.

    The base form of a verb is translated by the Hindi infinitive.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in (*_literal(), *_plain()):
        for word, hindi in _word_pairs(pair):
            counts[word][hindi] += 1
    best = {word: forms.most_common(1)[0][0] for word, forms in counts.items()}
    for verb in read_lexicon().verbs:
        base = " ".join(verb.english.base)
        if best.get(base, "").startswith(verb.hindi.stem):
            best[base] = " ".join((*verb.hindi.before, verb.hindi.infinitive[M]))
    return best


def _word_pairs(pair: SentencePair) -> Iterator[tuple[str, str]]:
    """Aligned word pairs, except where several English words express one idea."""
    english, hindi = ([word for word in side if word[1] >= 0] for side in pair.words)
    words_per_idea = Counter(idea for _, idea, names in english if names)
    for word, idea, names in english:
        same = " ".join(
            form
            for form, other_idea, other_names in hindi
            if names and other_names and other_idea == idea
        )
        if not names or words_per_idea[idea] == 1:
            yield word.lower(), PLAIN.get(same, same)


def _literal() -> Iterable[SentencePair]:
    """Sentences with an idiom's words in their literal meaning."""
    for number, template in enumerate(templates("idiom")):
        if template.wrong != idiomatic_words(template.about):
            yield from (
                fill_template(SentenceBuilder(FILLED * number + draw), template)
                for draw in range(FILLED)
            )


def _plain() -> Iterable[SentencePair]:
    sentences = islice(generate_sentences("train", max_words=LONGEST, core_share=CORE), SENTENCES)
    return (pair for pair in sentences if not any(check.kind == "idiom" for check in pair.checks))


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
EXPECTED = {CAKE: ("बाएँ हाथ का खेल", "केक"), LEG: ("शुभकामनाएँ", "टाँग")}  # idiomatic, literal


@dataclass(frozen=True)
class FrameSentence:
    """A sentence, its frame, whether it is idiomatic, and the check of its translation."""

    frame: str
    english: str
    idiomatic: bool
    check: TranslationCheck


def frame_sentences(translator: Translator) -> list[FrameSentence]:
    """Every frame with several names, where all words are in the model's vocabulary."""
    sentences = [
        FrameSentence(
            frame,
            english,
            idiomatic,
            TranslationCheck("idiom", about, *_expected_words(about, idiomatic=idiomatic)),
        )
        for idiomatic, frames in ((True, IDIOMATIC), (False, LITERAL))
        for about, idiom_frames in frames.items()
        for frame in idiom_frames
        for english in dict.fromkeys(frame.format(A=first, B=second) for first, second in NAMES)
    ]
    return [sentence for sentence in sentences if knows_every_word(translator, sentence.english)]


def _expected_words(about: str, *, idiomatic: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    idiom, word = EXPECTED[about]
    return ((idiom,), (word,)) if idiomatic else ((word,), (idiom,))


CLEAR = 0.05  # smallest difference of two accuracies that counts
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
    """Parameters and accuracies of a mixer, means over five seeds.

    `seen` is on idioms in sentences like those of training, `new` on held-out sentences, with
    `spread` its range over seeds; `senses` is on ambiguous words in held-out contexts.
    """

    name: str
    parameters: int
    seen: float
    new: float
    senses: float
    spread: tuple[float, float]


@dataclass(frozen=True)
class LadderScores:
    """A Transformer of the ladder: the shares of idioms and contexts it translates correctly."""

    name: str
    idiom: float
    context: float


@dataclass(frozen=True)
class MixerComparison:
    """Mixers with all else fixed, and Transformers that differ in the encoder's self-attention."""

    mixers: tuple[MixerScores, ...]
    ladder: tuple[LadderScores, ...]

    def blocks(self, text: Text) -> Iterator[Block]:
        """Both tables, and the verdict on the notes' claim."""
        shares = [[mixer.seen, mixer.new, mixer.senses] for mixer in self.mixers]
        columns = (text("seen_idioms"), text("new_idioms"), text("new_senses"))
        accuracies = [
            [100 * model_scores.idiom, 100 * model_scores.context] for model_scores in self.ladder
        ]
        yield text.paragraph("mixer_setup")
        yield heatmap(
            "",
            shares,
            [text(f"mixer_{MIXER_KEYS[mixer.name]}") for mixer in self.mixers],
            columns,
            digits=3,
        )
        yield table(
            text("accuracy_percent"),
            accuracies,
            [model_scores.name for model_scores in self.ladder],
            (text("column_idioms"), text("column_senses")),
            digits=1,
        )
        yield Paragraph(self.verdict(text))

    def verdict(self, text: Text) -> str:
        """The verdict on the notes' claim, case by case."""
        by_name = {mixer.name: mixer for mixer in self.mixers}
        learned = by_name[LEARNED]
        low, high = learned.spread
        least = min(model_scores.idiom for model_scores in self.ladder)
        return " ".join(
            (
                text("claim"),
                *(compare_mixers(learned, by_name[name], text) for name in (RAW, COSINE, MEAN)),
                text("seed_range", low=low, high=high),
                text("decoder_attends_too", least=least),
            )
        )


def compare_mixers(learned: MixerScores, other: MixerScores, text: Text) -> str:
    """Where learned queries, keys and values beat another mixer, and where they lose."""
    tests = (
        (text("in_seen_idioms"), learned.seen - other.seen),
        (text("in_new_idioms"), learned.new - other.new),
        (text("in_new_senses"), learned.senses - other.senses),
    )
    at = text("in_suffix")
    gains = ", ".join(f"{test}{at} {100 * gain:+.1f}" for test, gain in tests).replace("-", "−")
    gaining, losing, tied = (
        ", ".join(test for test, gain in tests if sign == (gain > CLEAR) - (gain < -CLEAR))
        for sign in (1, -1, 0)
    )
    if not (losing or tied):
        verdict = text("claim_holds")
    elif not gaining:
        verdict = text("claim_does_not_hold")
    else:
        verdict = text("gains_for", gaining=gaining)
    if losing:
        verdict += text("loses_for", losing=losing)
    if tied:
        verdict += text("ties_for", tied=tied)
    return text(
        "mixer_comparison",
        name=text(f"form_{MIXER_KEYS[other.name]}"),
        gains=gains,
        verdict=verdict,
    )


ENOUGH = 0.9  # accuracy in new frames; below it the frame decides


@dataclass(frozen=True)
class IdiomTranslation:
    """A sentence, its translation, and its word-by-word translation.

    For a reader's sentence `idiomatic` and `correct` are unknown.
    """

    sentence: str
    translation: str
    word_by_word: str
    idiomatic: bool | None = None
    correct: bool | None = None


@dataclass(frozen=True)
class IdiomCounts:
    """Test sentences of an idiom and correct translations, idiomatic and literal."""

    about: str
    idiomatic: int
    idiomatic_correct: int
    literal: int
    literal_correct: int

    @property
    def total(self) -> int:
        """All sentences."""
        return self.idiomatic + self.literal

    @property
    def correct(self) -> int:
        """All correct translations."""
        return self.idiomatic_correct + self.literal_correct


@dataclass(frozen=True)
class Idioms(LessonResult):
    """Examples, accuracy on the primer's test and in new frames, and the mixer comparison.

    `frames` is how many new frames are correct with every name, and how many there are.
    """

    examples: tuple[IdiomTranslation, ...]
    primer_counts: tuple[IdiomCounts, ...]
    new_frame_counts: tuple[IdiomCounts, ...]
    frames: tuple[int, int]
    mixer_comparison: MixerComparison | None = None

    def blocks(self, text: Text) -> Iterator[Block]:
        """The examples, the counts, and the mixer comparison."""
        for example in self.examples:
            yield Paragraph(_describe(example, text))
        yield Paragraph(self._understood(text))
        yield from self._shares(text)
        yield from self._fresh(text)
        if self.mixer_comparison:
            yield from self.mixer_comparison.blocks(text)

    def _understood(self, text: Text) -> str:
        correct, total = _sums(self.primer_counts)
        low, high = wilson(correct, total)
        return text(
            "test_accuracy", correct=correct, total=total, share=correct / total, low=low, high=high
        )

    def _shares(self, text: Text) -> Iterator[Block]:
        """Every idiom, in two tables side by side."""
        half = (len(self.primer_counts) + 1) // 2
        parts = (self.primer_counts[:half], self.primer_counts[half:])
        for part in parts:
            if part:
                yield _table("", part, text)

    def _fresh(self, text: Text) -> Iterator[Block]:
        """The counts in held-out frames."""
        if not self.new_frame_counts:
            return
        correct, total = _sums(self.new_frame_counts)
        solved_frames, frames = self.frames
        verdict = text(
            "new_templates_accuracy",
            correct=correct,
            total=total,
            solved_frames=solved_frames,
            frames=frames,
        )
        if correct < ENOUGH * total:
            verdict += text("depends_on_templates")
        elif solved_frames < frames:
            verdict += text("depends_little_on_templates")
        else:
            verdict += text("independent_of_templates")
        yield Paragraph(verdict)
        yield _table(text("new_templates"), self.new_frame_counts, text)


@lesson
def idioms(
    model: str | Path | Translator | None = None,
    *,
    sentence: str | Sequence[str] | None = None,
    sentences: int = 300,
    on_progress: ProgressCallback | None = None,
) -> Idioms:
    """Idioms as a trained model translates them: the snapshot, or a run.

    A run of the primer takes about 10 seconds.
    """
    if model is None or model == SNAPSHOT:
        if sentence is not None:
            raise UserError(
                "sentence: the snapshot cannot translate it; give model=en-hi too, or model=RUN, a "
                "folder of `dhyan train primer`"
            )
        return read_snapshot("idioms", Idioms)
    translator, sentences = load_translator(model), parse_int("sentences", sentences, least=20)
    examples = (
        None if sentence is None else (_translate_own(translator, " ".join(parse_words(sentence))),)
    )
    measured = measure_idioms(translator, sentences, on_progress)
    return replace(
        measured, examples=examples or measured.examples, mixer_comparison=_snapshot_measures()
    )


def measure_idioms(
    translator: Translator, sentences: int = 300, on_progress: ProgressCallback | None = None
) -> Idioms:
    """Accuracy of a model on the primer's test and in new frames."""
    primer_counts, examples = _test_primer(translator, sentences, on_progress)
    return Idioms(examples, primer_counts, *_test_frames(translator, on_progress))


def _snapshot_measures() -> MixerComparison | None:
    """The mixer comparison of the snapshot, if there is one."""
    if not has_snapshot("idioms"):
        return None
    return read_snapshot("idioms", Idioms).mixer_comparison


def _test_primer(
    translator: Translator, sentences: int, on_progress: ProgressCallback | None
) -> tuple[tuple[IdiomCounts, ...], tuple[IdiomTranslation, ...]]:
    """Counts of the primer's test by idiom, and an example of each reading of the notes' two."""
    pairs = primer_sentences(translator, "idiom", sentences)
    translations = _translate(translator, [pair.english for pair in pairs], on_progress)
    judged = [
        (pair.checks[0], is_idiomatic(pair), pair.checks[0].passes(text))
        for pair, text in zip(pairs, translations, strict=True)
    ]
    examples: dict[tuple[str, bool], IdiomTranslation] = {}
    for pair, text, (check, idiomatic, correct) in zip(pairs, translations, judged, strict=True):
        if (key := (check.about, idiomatic)) not in examples:
            word_by_word = (
                translate_word_by_word(pair.english) if check.about in (CAKE, LEG) else ""
            )
            examples[key] = IdiomTranslation(pair.english, text, word_by_word, idiomatic, correct)
    order = [(about, idiomatic) for about in (CAKE, LEG) for idiomatic in (True, False)]
    return _count(judged), tuple(examples[key] for key in order if key in examples)


def _test_frames(
    translator: Translator, on_progress: ProgressCallback | None
) -> tuple[tuple[IdiomCounts, ...], tuple[int, int]]:
    """Counts in frames that the primer does not have."""
    sentences = frame_sentences(translator)
    translations = _translate(translator, [sentence.english for sentence in sentences], on_progress)
    correct = [
        sentence.check.passes(text) for sentence, text in zip(sentences, translations, strict=True)
    ]
    judged = [
        (sentence.check, sentence.idiomatic, ok)
        for sentence, ok in zip(sentences, correct, strict=True)
    ]
    frames = {sentence.frame for sentence in sentences}
    failed_frames = {
        sentence.frame for sentence, ok in zip(sentences, correct, strict=True) if not ok
    }
    return _count(judged), (len(frames - failed_frames), len(frames))


def _count(judged: Sequence[tuple[TranslationCheck, bool, bool]]) -> tuple[IdiomCounts, ...]:
    """Counts by idiom, the notes' two first."""
    counts: list[IdiomCounts] = []
    for about in dict.fromkeys(check.about for check, _, _ in judged):
        results = [
            (idiomatic, correct) for check, idiomatic, correct in judged if check.about == about
        ]
        counts.append(
            IdiomCounts(
                about,
                sum(idiomatic for idiomatic, _ in results),
                sum(idiomatic and correct for idiomatic, correct in results),
                sum(not idiomatic for idiomatic, _ in results),
                sum(correct and not idiomatic for idiomatic, correct in results),
            )
        )
    return tuple(sorted(counts, key=lambda entry: entry.about not in (CAKE, LEG)))


def _translate_own(translator: Translator, text: str) -> IdiomTranslation:
    """A reader's sentence, which cannot be judged."""
    if not knows_every_word(translator, text):
        unknown = [word for word in text.split() if not knows_every_word(translator, word)]
        raise UserError(
            f"sentence: this model does not know {', '.join(unknown)}; choose other words"
        )
    return IdiomTranslation(text, translator(text)[0].text, translate_word_by_word(text))


def _translate(
    translator: Translator, texts: Sequence[str], on_progress: ProgressCallback | None
) -> list[str]:
    def count(done: int) -> None:
        if on_progress:
            on_progress(f"translated {done} of {len(texts)}")

    return [translation.text for translation in translator(texts, on_progress=count)]


def _describe(example: IdiomTranslation, text: Text) -> str:
    """A sentence with its translation, its verdict and its word-by-word translation."""
    description = f"“{example.sentence}” → {example.translation}"
    if example.idiomatic is not None:
        reading = text("idiomatic") if example.idiomatic else text("literal")
        verdict = text("correct") if example.correct else text("incorrect")
        description += f" ({reading}: {verdict})"
    return description + text("word_by_word", word_by_word=example.word_by_word)


def _sums(counts: Sequence[IdiomCounts]) -> tuple[int, int]:
    """Correct translations and sentences."""
    return sum(entry.correct for entry in counts), sum(entry.total for entry in counts)


def _table(title: str, counts: Sequence[IdiomCounts], text: Text) -> Table:
    """Correct and total, idiomatic and literal, for every idiom."""
    of = text("column_total")
    columns = (text("idiomatic"), of, text("literal"), of)
    rows = [
        (entry.idiomatic_correct, entry.idiomatic, entry.literal_correct, entry.literal)
        for entry in counts
    ]
    return table(title, rows, [entry.about for entry in counts], columns)
