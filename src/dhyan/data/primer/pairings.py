"""Pairs of words that training never sees together, though it sees each of them."""

from functools import cache
from zlib import crc32

from dhyan.data.primer.kinds import Adjective, Noun, Verb

FEWEST, EVERY = 6, 10  # a word with fewer partners keeps them all; one in so many is held out


def held_out(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two words are never paired in training."""
    return crc32(" ".join((*one, "+", *other)).encode()) % EVERY == 0


@cache
def held_objects(verb: Verb) -> frozenset[Noun]:
    """The nouns that are not the object of this verb in training."""
    nouns = verb.object_nouns
    if len(nouns) < FEWEST:
        return frozenset()
    return frozenset(noun for noun in nouns if held_out(verb.english.base, noun.english))


@cache
def held_adjectives(noun: Noun) -> frozenset[Adjective]:
    """The adjectives that do not go with this noun in training."""
    if len(noun.adjectives) < FEWEST:
        return frozenset()
    return frozenset(one for one in noun.adjectives if held_out(one.english, noun.english))
