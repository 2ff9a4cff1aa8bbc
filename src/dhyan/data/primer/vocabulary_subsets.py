"""Vocabulary subsets of the generated corpus: its core, and word pairs held out from training."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import ceil
from typing import TypeVar
from zlib import crc32

from dhyan.data.primer.lexicon import Adjective, Noun, Verb, read_lexicon

Choice = TypeVar("Choice")

MIN_WORDS = 4  # of a list, though fewer are in the core
MIN_SENSES = 8  # ambiguous words, in any core


@cache
def core_words(share: float) -> frozenset[object]:
    """This share of every word class: the words that combine with the most others."""
    lexicon, partner_counts = read_lexicon(), _partner_counts()
    word_classes: tuple[tuple[object, ...], ...] = (
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
        for words in word_classes
        for word in sorted(words, key=lambda word: -partner_counts[word])[
            : ceil(share * len(words))
        ]
    )


@cache
def _partner_counts() -> Counter[object]:
    """The number of words that each verb, noun and adjective combines with."""
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
    """The ambiguous words; of a core vocabulary, those with the most cues."""
    senses = read_lexicon().senses
    cues = {word: sum(len(sense.cues) for sense in selected) for word, selected in senses.items()}
    size = max(MIN_SENSES, ceil(share * len(cues)))
    selected_words = sorted(cues, key=lambda word: -cues[word])[:size]
    return tuple(word for word in cues if word in selected_words)


@cache
def core_choices(choices: tuple[Choice, ...], share: float) -> tuple[Choice, ...]:
    """The core words of a list; where they are too few, the first words of the list."""
    core = core_words(share)
    selected = tuple(choice for choice in choices if choice in core)
    return selected if len(selected) >= MIN_WORDS else choices[:MIN_WORDS]


Word = TypeVar("Word")
HELD_OUT_EVERY = 10  # one word pair in so many, of words that both have many partners
FREQUENT_PREFIX = 8  # words of a list that are sampled often, however short it is
MIN_OBJECTS, MIN_VERBS, MIN_ADJECTIVES, MIN_NOUNS = 6, 4, 6, 40


def is_held_out_pair(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Whether a pair of words is held out from training."""
    return crc32(" ".join((*first, "+", *second)).encode()) % HELD_OUT_EVERY == 0


@cache
def held_out_objects(verb: Verb) -> frozenset[Noun]:
    """The objects of a verb that are held out from training."""
    counts, nouns = _verbs_of(), verb.object_nouns
    if len(nouns) < MIN_OBJECTS:
        return frozenset()
    return frozenset(
        noun
        for noun in nouns
        if counts[noun] > MIN_VERBS and is_held_out_pair(verb.english.base, noun.english)
    )


@cache
def held_out_adjectives(noun: Noun) -> frozenset[Adjective]:
    """The adjectives of a noun that are held out from training."""
    counts, adjectives = _nouns_of(), noun.adjectives
    if len(adjectives) < MIN_ADJECTIVES:
        return frozenset()
    return frozenset(
        adjective
        for adjective in adjectives
        if counts[adjective] > MIN_NOUNS and is_held_out_pair(adjective.english, noun.english)
    )


@cache
def _verbs_of() -> Counter[Noun]:
    """The number of verbs that often have each noun as their object."""
    return Counter(noun for verb in read_lexicon().verbs for noun in _front(verb.object_nouns))


@cache
def _nouns_of() -> Counter[Adjective]:
    """The number of nouns that each adjective often describes."""
    nouns = (noun for domain in read_lexicon().nouns.values() for noun in domain)
    return Counter(adjective for noun in nouns for adjective in _front(noun.adjectives))


def _front(words: Sequence[Word]) -> Sequence[Word]:
    """The words of a list that are sampled most often."""
    return words[: max(FREQUENT_PREFIX, len(words) // 4)]
