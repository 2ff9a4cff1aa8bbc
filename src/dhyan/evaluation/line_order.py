"""Whether translations stand in the order of their references."""

from collections import Counter
from collections.abc import Sequence
from math import fsum

from dhyan.data.length_filters import words
from dhyan.text.normalize import normalize

FEWEST = 20  # sentences, below which chance decides
CLEARLY = 1.2  # how many times as many words the right lines share


def out_of_order(said: Sequence[str], references: Sequence[str]) -> bool:
    """Whether translations share hardly more with their references than with the lines beside.

    Rare words count more: a word of n references counts 1/n.
    """
    if len(said) < FEWEST:
        return False
    ours, theirs = (
        [frozenset(words(normalize(text))) for text in side] for side in (said, references)
    )
    seen = Counter(word for one in theirs for word in one)
    return _shared(ours, theirs, 0, seen) <= CLEARLY * max(
        _shared(ours, theirs, 1, seen), _shared(ours, theirs, -1, seen)
    )


def _shared(
    ours: Sequence[frozenset[str]], theirs: Sequence[frozenset[str]], step: int, seen: Counter[str]
) -> float:
    """How much translations share with the references so many lines further on, around the end."""
    total = len(theirs)
    return fsum(
        1 / seen[word] for at, own in enumerate(ours) for word in own & theirs[(at + step) % total]
    )
