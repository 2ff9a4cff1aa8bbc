"""Pairs of words that training never sees together, though it sees each of them."""

from collections import Counter
from functools import cache
from zlib import crc32

from dhyan.data.primer.kinds import Adjective, Noun, Verb
from dhyan.data.primer.lexicon import read_lexicon

FEWEST, EVERY = 6, 10  # a word with fewer partners keeps them all; one in so many is held out


def held_out(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two words are never paired in training."""
    return crc32(" ".join((*one, "+", *other)).encode()) % EVERY == 0


@cache
def held_objects(verb: Verb) -> frozenset[Noun]:
    """The nouns that are not the object of this verb in training."""
    known, nouns = verbs_of(), verb.object_nouns
    if len(nouns) < FEWEST:
        return frozenset()
    return frozenset(
        noun
        for noun in nouns
        if known[noun] >= FEWEST and held_out(verb.english.base, noun.english)
    )


@cache
def held_adjectives(noun: Noun) -> frozenset[Adjective]:
    """The adjectives that do not go with this noun in training."""
    known, adjectives = nouns_of(), noun.adjectives
    if len(adjectives) < FEWEST:
        return frozenset()
    return frozenset(
        one for one in adjectives if known[one] >= FEWEST and held_out(one.english, noun.english)
    )


@cache
def verbs_of() -> Counter[Noun]:
    """How many verbs each noun is the object of."""
    return Counter(noun for verb in read_lexicon().verbs for noun in verb.object_nouns)


@cache
def nouns_of() -> Counter[Adjective]:
    """How many nouns each adjective goes with."""
    nouns = (noun for domain in read_lexicon().nouns.values() for noun in domain)
    return Counter(one for noun in nouns for one in noun.adjectives)
