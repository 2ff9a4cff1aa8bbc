"""A small world of words that go with many others, so that they still meet one another."""

from collections import Counter
from functools import cache
from math import ceil
from typing import TypeVar

from dhyan.data.primer.lexicon import read_lexicon

Choice = TypeVar("Choice")

FEWEST = 4  # words of a list, though fewer are in the core
FEWEST_SENSES = 8  # words of several meanings


@cache
def core_words(share: float) -> frozenset[object]:
    """Of every kind of words this share, those that go with the most others."""
    lexicon, ties = read_lexicon(), _ties()
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
        for word in sorted(words, key=lambda word: -ties[word])[: ceil(share * len(words))]
    )


@cache
def _ties() -> Counter[object]:
    """With how many others each verb, noun and adjective goes."""
    lexicon, ties = read_lexicon(), Counter[object]()
    for verb in lexicon.verbs:
        partners = (*verb.subject_nouns, *verb.object_nouns, *verb.recipient_nouns)
        ties[verb] += len(partners)
        ties.update(partners)
    for nouns in lexicon.nouns.values():
        for noun in nouns:
            ties.update(noun.adjectives)
    return ties


@cache
def ambiguous(share: float = 1.0) -> tuple[str, ...]:
    """The words of several meanings; of a core those that have the most cues."""
    senses = read_lexicon().senses
    cues = {word: sum(len(one.cues) for one in found) for word, found in senses.items()}
    size = max(FEWEST_SENSES, ceil(share * len(cues)))
    kept = sorted(cues, key=lambda word: -cues[word])[:size]
    return tuple(word for word in cues if word in kept)


@cache
def common(choices: tuple[Choice, ...], share: float) -> tuple[Choice, ...]:
    """Those of a list that are in the core; where they are too few, the first ones of the list."""
    core = core_words(share)
    found = tuple(one for one in choices if one in core)
    return found if len(found) >= FEWEST else choices[:FEWEST]
