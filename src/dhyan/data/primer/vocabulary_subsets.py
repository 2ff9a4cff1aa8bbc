"""The core vocabulary, and pairs of words that are held out from training."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import ceil
from typing import TypeVar
from zlib import crc32

from dhyan.data.primer.lexicon import Adjective, Noun, Verb, read_lexicon

Choice = TypeVar("Choice")

FEWEST = 4  # words of a list, though fewer are in the core
FEWEST_SENSES = 8  # words of several meanings


@cache
def core_words(share: float) -> frozenset[object]:
    """Of every kind of words this share, those that go with the most others."""
    lexicon, partner_counts = read_lexicon(), _partner_counts()
    kinds: tuple[tuple[object, ...], ...] = (
        lexicon.names,
        lexicon.adjectives,
        tuple(verb for verb in lexicon.verbs if verb.objects),
        tuple(verb for verb in lexicon.verbs if not verb.objects),
        lexicon.speech,
        lexicon.manner,
        lexicon.times,
        *lexicon.nouns.values(),
    )
    return frozenset(
        word
        for words in kinds
        for word in sorted(words, key=lambda word: -partner_counts[word])[
            : ceil(share * len(words))
        ]
    )


@cache
def _partner_counts() -> Counter[object]:
    """With how many others each verb, noun and adjective goes."""
    lexicon, partner_counts = read_lexicon(), Counter[object]()
    for verb in lexicon.verbs:
        partners = (*verb.subject_nouns, *verb.object_nouns, *verb.recipient_nouns)
        partner_counts[verb] += len(partners)
        partner_counts.update(partners)
    for nouns in lexicon.nouns.values():
        for noun in nouns:
            partner_counts.update(noun.adjectives)
    return partner_counts


@cache
def ambiguous_words(share: float = 1.0) -> tuple[str, ...]:
    """The words of several meanings; of a core those that have the most cues."""
    senses = read_lexicon().senses
    cues = {word: sum(len(one.cues) for one in selected) for word, selected in senses.items()}
    size = max(FEWEST_SENSES, ceil(share * len(cues)))
    selected_words = sorted(cues, key=lambda word: -cues[word])[:size]
    return tuple(word for word in cues if word in selected_words)


@cache
def core_choices(choices: tuple[Choice, ...], share: float) -> tuple[Choice, ...]:
    """Those of a list that are in the core; where they are too few, the first ones of the list."""
    core = core_words(share)
    selected = tuple(one for one in choices if one in core)
    return selected if len(selected) >= FEWEST else choices[:FEWEST]


Word = TypeVar("Word")
HELD_OUT_EVERY = 10  # one pairing in so many is held out, of words that both have many others
FREQUENT_PREFIX = 8  # so many words of a list are drawn often, however short it is
FEWEST_OBJECTS, FEWEST_VERBS, FEWEST_ADJECTIVES, FEWEST_NOUNS = 6, 4, 6, 40


def is_held_out_pair(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two words are never paired in training."""
    return crc32(" ".join((*one, "+", *other)).encode()) % HELD_OUT_EVERY == 0


@cache
def held_out_objects(verb: Verb) -> frozenset[Noun]:
    """The nouns that are not the object of this verb in training."""
    counts, nouns = _verbs_of(), verb.object_nouns
    if len(nouns) < FEWEST_OBJECTS:
        return frozenset()
    return frozenset(
        noun
        for noun in nouns
        if counts[noun] > FEWEST_VERBS and is_held_out_pair(verb.english.base, noun.english)
    )


@cache
def held_out_adjectives(noun: Noun) -> frozenset[Adjective]:
    """The adjectives that do not go with this noun in training."""
    counts, adjectives = _nouns_of(), noun.adjectives
    if len(adjectives) < FEWEST_ADJECTIVES:
        return frozenset()
    return frozenset(
        one
        for one in adjectives
        if counts[one] > FEWEST_NOUNS and is_held_out_pair(one.english, noun.english)
    )


@cache
def _verbs_of() -> Counter[Noun]:
    """How many verbs often have each noun as their object."""
    return Counter(noun for verb in read_lexicon().verbs for noun in _front(verb.object_nouns))


@cache
def _nouns_of() -> Counter[Adjective]:
    """How many nouns each adjective often goes with."""
    nouns = (noun for domain in read_lexicon().nouns.values() for noun in domain)
    return Counter(one for noun in nouns for one in _front(noun.adjectives))


def _front(words: Sequence[Word]) -> Sequence[Word]:
    """The words of a list that are drawn most often."""
    return words[: max(FREQUENT_PREFIX, len(words) // 4)]
