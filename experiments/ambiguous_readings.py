"""Ambiguous words in sentences of the primer that determine their reading: a classification task."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count, islice
from zlib import crc32

from dhyan.data.primer import SentencePair, generate_sentences
from dhyan.data.primer.ambiguous_words import disambiguated_sentence
from dhyan.data.primer.lexicon import Cue, read_lexicon
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.templates import Template, fill_template, templates
from dhyan.data.primer.vocabulary_subsets import ambiguous_words

LITERAL, IDIOMATIC = 0, 1
SEED_STEP = 1 << 40  # distance of the seeds of different parts


@dataclass(frozen=True)
class Reading:
    """A sentence, the position of its ambiguous word, the label, and the possible labels."""

    words: tuple[str, ...]
    position: int
    label: int
    choices: tuple[int, ...]


@dataclass(frozen=True)
class Trial:
    """Training, validation and test sets; no sentence is in two of them."""

    classes: int
    train: tuple[Reading, ...]
    valid: tuple[Reading, ...]
    tests: dict[str, tuple[Reading, ...]]


def context_trial(train: int, test: int) -> Trial:
    """Word sense disambiguation.

    "seen" has contexts of training, "held_out" (a split of the primer) pairs of frame and cue that
    training does not have, and "new_nouns" cue nouns that never occur with the word in training.
    """
    training_readings = (context for context in _contexts() if not _held_out(context))
    new = (context for context in _contexts() if _held_out(context))
    pairs = (sense_reading(pair) for pair in generate_sentences("context"))
    sources = {
        "seen": training_readings,
        "held_out": (pair for pair in pairs if not _held_out(pair)),
        "new_nouns": new,
    }
    return _trial(len(_senses()), training_readings, sources, train, test)


def idiom_trial(train: int, test: int) -> Trial:
    """Idiomatic or literal use of an idiom; both are equally likely.

    "seen" fills the templates of training with other words; the templates of "held_out" are not in
    training. The ambiguous word is the last one that both readings share.
    """
    training_readings, held_out = _idioms(held_out=False), _idioms(held_out=True)
    return _trial(
        2, training_readings, {"seen": training_readings, "held_out": held_out}, train, test
    )


def plain_sentences(number: int, *, longest: int = 20) -> list[tuple[str, ...]]:
    """English training sentences of the primer, without labels."""
    return [
        english_words(pair)
        for pair in islice(generate_sentences("train", max_words=longest), number)
    ]


def english_words(pair: SentencePair) -> tuple[str, ...]:
    """The English words in lower case, without punctuation."""
    return tuple(word.lower() for word, idea, _ in pair.words[0] if idea >= 0)


def sense_reading(pair: SentencePair) -> Reading:
    """The ambiguous word and the index of its sense among the senses of all words."""
    [check] = pair.checks
    words, senses = english_words(pair), _senses()
    choices = tuple(i for i, (word, _) in enumerate(senses) if word == check.about)
    [label] = [i for i in choices if check.right[0] in senses[i][1]]
    return Reading(words, words.index(check.about), label, choices)


def _trial(
    classes: int,
    training_readings: Iterator[Reading],
    sources: Mapping[str, Iterator[Reading]],
    train: int,
    test: int,
) -> Trial:
    """`train` and `test` sentences for each part, without duplicates."""
    taken_words: set[tuple[str, ...]] = set()

    def unique(source: Iterator[Reading]) -> Iterator[Reading]:
        for reading in source:
            if reading.words not in taken_words:
                taken_words.add(reading.words)
                yield reading

    def take(source: Iterator[Reading], number: int) -> tuple[Reading, ...]:
        return tuple(islice(unique(source), number))

    return Trial(
        classes,
        take(training_readings, train),
        take(training_readings, test),
        {name: take(source, test) for name, source in sources.items()},
    )


@cache
def _senses() -> tuple[tuple[str, frozenset[str]], ...]:
    """Every sense of every ambiguous word: the word, and its Hindi forms."""
    return tuple(
        (word, frozenset(" ".join(form) for form in sense.noun.hindi))
        for word in ambiguous_words()
        for sense in read_lexicon().senses[word]
    )


def _contexts() -> Iterator[Reading]:
    return (sense_reading(disambiguated_sentence(SentenceBuilder(seed))) for seed in count())


def _held_out(reading: Reading) -> bool:
    """Whether the sentence ends in a noun that never occurs with its word in training."""
    return (reading.words[reading.position], reading.words[-1]) in _held_out_nouns()


@cache
def _held_out_nouns() -> frozenset[tuple[str, str]]:
    """For each sense one of its least frequent cue nouns, so that no sense becomes rare."""
    return frozenset(
        (word, _least_frequent([_noun(cue) for cue in sense.cues]))
        for word in ambiguous_words()
        for sense in read_lexicon().senses[word]
    )


def _least_frequent(nouns: list[str]) -> str:
    return min(nouns, key=lambda noun: (nouns.count(noun), crc32(noun.encode())))


def _noun(cue: Cue) -> str:
    """The last word of a sentence that ends with the cue."""
    noun = cue.noun
    return (noun.plural if cue.plural or noun.pair else noun.english)[-1].lower()


def _idioms(*, held_out: bool) -> Iterator[Reading]:
    """Random idiomatic or literal uses; one template of several of a reading is held out."""
    by_reading = {
        key: group[-1:] if held_out else group[: max(1, len(group) - 1)]
        for key, group in _templates_by_reading().items()
        if not held_out or len(group) > 1
    }
    keys, shared_words = list(by_reading), _shared_words()
    for seed in count(SEED_STEP * (1 + held_out)):
        builder = SentenceBuilder(seed)
        about, label = key = builder.choose(keys)
        words = english_words(fill_template(builder, builder.choose(by_reading[key])))
        position = len(words) - 1 - words[::-1].index(shared_words[about])
        yield Reading(words, position, label, (LITERAL, IDIOMATIC))


@cache
def _templates_by_reading() -> dict[tuple[str, int], tuple[Template, ...]]:
    """The templates of each idiom by idiomatic or literal use; the first one is idiomatic.

    An idiomatic template excludes the same literal translations as the first.
    """
    groups: dict[tuple[str, int], tuple[Template, ...]] = {}
    literal: dict[str, tuple[str, ...]] = {}
    for template in templates("idiom"):
        same = template.wrong == literal.setdefault(template.about, template.wrong)
        key = template.about, IDIOMATIC if same else LITERAL
        groups[key] = (*groups.get(key, ()), template)
    return groups


@cache
def _shared_words() -> dict[str, str]:
    """For each idiom its last word that occurs in all its templates."""
    sentences_of: dict[str, list[set[str]]] = {}
    for (about, _), group in _templates_by_reading().items():
        sentences_of.setdefault(about, []).extend(
            {*english_words(fill_template(SentenceBuilder(0), template))} for template in group
        )
    return {
        about: [word for word in about.split() if all(word in sentence for sentence in sentences)][
            -1
        ]
        for about, sentences in sentences_of.items()
    }
