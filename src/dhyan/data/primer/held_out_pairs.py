"""Pairs of words that training never sees together, though it sees each of them."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TypeVar
from zlib import crc32

from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.word_classes import Adjective, Noun, Verb

Word = TypeVar("Word")
EVERY = 10  # one pairing in so many is held out, of words that both have many others
OFTEN = 8  # so many words of a list are drawn often, however short it is
FEWEST_OBJECTS, FEWEST_VERBS, FEWEST_ADJECTIVES, FEWEST_NOUNS = 6, 4, 6, 40


def held_out(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two words are never paired in training."""
    return crc32(" ".join((*one, "+", *other)).encode()) % EVERY == 0


@cache
def held_objects(verb: Verb) -> frozenset[Noun]:
    """The nouns that are not the object of this verb in training."""
    known, nouns = _verbs_of(), verb.object_nouns
    if len(nouns) < FEWEST_OBJECTS:
        return frozenset()
    return frozenset(
        noun
        for noun in nouns
        if known[noun] > FEWEST_VERBS and held_out(verb.english.base, noun.english)
    )


@cache
def held_adjectives(noun: Noun) -> frozenset[Adjective]:
    """The adjectives that do not go with this noun in training."""
    known, adjectives = _nouns_of(), noun.adjectives
    if len(adjectives) < FEWEST_ADJECTIVES:
        return frozenset()
    return frozenset(
        one
        for one in adjectives
        if known[one] > FEWEST_NOUNS and held_out(one.english, noun.english)
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
    return words[: max(OFTEN, len(words) // 4)]
