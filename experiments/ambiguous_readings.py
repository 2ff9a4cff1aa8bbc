"""Words that can be read in several ways, each in a sentence of the primer that decides how."""

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
STEP = 1 << 40  # seeds of different parts lie so far apart


@dataclass(frozen=True)
class Reading:
    """A sentence, which of its words is asked about, and which of some choices is right."""

    words: tuple[str, ...]
    place: int
    label: int
    choices: tuple[int, ...]


@dataclass(frozen=True)
class Trial:
    """What is learned from, what settings are chosen by, and tests; no sentence is in two."""

    classes: int
    train: tuple[Reading, ...]
    valid: tuple[Reading, ...]
    tests: dict[str, tuple[Reading, ...]]


def context_trial(train: int, test: int) -> Trial:
    """Which meaning has a word of several?

    "seen" asks in contexts that training shows, "held_out" (a split of the primer) pairs frame and
    cue as training never does, and in "new_nouns" the noun that decides was never beside the word.
    """
    known = (context for context in _contexts() if not _held_out(context))
    new = (context for context in _contexts() if _held_out(context))
    pairs = (sense_read(twin) for twin in generate_sentences("context"))
    sources = {
        "seen": known,
        "held_out": (pair for pair in pairs if not _held_out(pair)),
        "new_nouns": new,
    }
    return _trial(len(_senses()), known, sources, train, test)


def idiom_trial(train: int, test: int) -> Trial:
    """Is an idiom meant as one, or word for word? Both are as likely.

    "seen" fills the sentences of training anew; those of "held_out" training never shows. It is
    asked at the last word that both readings have.
    """
    known, kept = _idioms(kept=False), _idioms(kept=True)
    return _trial(2, known, {"seen": known, "held_out": kept}, train, test)


def plain_sentences(number: int, *, longest: int = 20) -> list[tuple[str, ...]]:
    """The English of the primer's training, of which no one says what any word means."""
    return [written(twin) for twin in islice(generate_sentences("train", longest=longest), number)]


def written(twin: SentencePair) -> tuple[str, ...]:
    """The English words in small letters, without signs."""
    return tuple(word.lower() for word, idea, _ in twin.words[0] if idea >= 0)


def sense_read(twin: SentencePair) -> Reading:
    """The word of several meanings, and the number of the one it has among those of all words."""
    [wanted] = twin.wanted
    words, senses = written(twin), _senses()
    choices = tuple(i for i, (word, _) in enumerate(senses) if word == wanted.about)
    [label] = [i for i in choices if wanted.right[0] in senses[i][1]]
    return Reading(words, words.index(wanted.about), label, choices)


def _trial(
    classes: int,
    known: Iterator[Reading],
    sources: Mapping[str, Iterator[Reading]],
    train: int,
    test: int,
) -> Trial:
    """As many sentences of each part as asked for, none of them twice."""
    met: set[tuple[str, ...]] = set()

    def fresh(source: Iterator[Reading]) -> Iterator[Reading]:
        for one in source:
            if one.words not in met:
                met.add(one.words)
                yield one

    def take(source: Iterator[Reading], number: int) -> tuple[Reading, ...]:
        return tuple(islice(fresh(source), number))

    return Trial(
        classes,
        take(known, train),
        take(known, test),
        {name: take(source, test) for name, source in sources.items()},
    )


@cache
def _senses() -> tuple[tuple[str, frozenset[str]], ...]:
    """Every meaning of every word that has several: the word, and its forms in Hindi."""
    return tuple(
        (word, frozenset(" ".join(form) for form in sense.noun.hindi))
        for word in ambiguous_words()
        for sense in read_lexicon().senses[word]
    )


def _contexts() -> Iterator[Reading]:
    return (sense_read(disambiguated_sentence(SentenceBuilder(seed))) for seed in count())


def _held_out(one: Reading) -> bool:
    """Whether the sentence ends in a noun that training never shows beside its word."""
    return (one.words[one.place], one.words[-1]) in _held_out_nouns()


@cache
def _held_out_nouns() -> frozenset[tuple[str, str]]:
    """For each sense one of the nouns that decide it least often, so that none becomes rare."""
    return frozenset(
        (word, _least([_noun(cue) for cue in sense.cues]))
        for word in ambiguous_words()
        for sense in read_lexicon().senses[word]
    )


def _least(nouns: list[str]) -> str:
    return min(nouns, key=lambda noun: (nouns.count(noun), crc32(noun.encode())))


def _noun(cue: Cue) -> str:
    """The last word of a sentence that ends with the cue."""
    noun = cue.noun
    return (noun.plural if cue.plural or noun.pair else noun.english)[-1].lower()


def _idioms(*, kept: bool) -> Iterator[Reading]:
    """Idioms meant or not, by chance; of several sentences of a reading one is kept back."""
    readings = _templates_by_reading()
    shown = {
        key: found[-1:] if kept else found[: max(1, len(found) - 1)]
        for key, found in readings.items()
        if not kept or len(found) > 1
    }
    keys, places = list(shown), _asked_words()
    for seed in count(STEP * (1 + kept)):
        draft = SentenceBuilder(seed)
        about, label = key = draft.choose(keys)
        words = written(fill_template(draft, draft.choose(shown[key])))
        place = len(words) - 1 - words[::-1].index(places[about])
        yield Reading(words, place, label, (LITERAL, IDIOMATIC))


@cache
def _templates_by_reading() -> dict[tuple[str, int], tuple[Template, ...]]:
    """The sentences of each idiom, meant or not; the first of an idiom means it.

    One that is meant must not be said word for word, in whatever form it is said.
    """
    found: dict[tuple[str, int], tuple[Template, ...]] = {}
    literally: dict[str, tuple[str, ...]] = {}
    for template in templates("idiom"):
        same = template.wrong == literally.setdefault(template.about, template.wrong)
        key = template.about, IDIOMATIC if same else LITERAL
        found[key] = (*found.get(key, ()), template)
    return found


@cache
def _asked_words() -> dict[str, str]:
    """For each idiom its last word that all its sentences have."""
    said: dict[str, list[set[str]]] = {}
    for (about, _), found in _templates_by_reading().items():
        said.setdefault(about, []).extend(
            {*written(fill_template(SentenceBuilder(0), one))} for one in found
        )
    return {
        about: [word for word in about.split() if all(word in sentence for sentence in sentences)][
            -1
        ]
        for about, sentences in said.items()
    }
