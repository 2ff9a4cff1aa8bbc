"""Line order check: whether translations are in the order of their references."""

from collections import Counter
from collections.abc import Sequence
from math import fsum

from dhyan.data.filters import split_words
from dhyan.text.normalize import normalize

FEWEST = 20  # sentences; with fewer the check is unreliable
MARGIN = 1.2  # aligned lines share at least this many times as many words


def out_of_order(hypotheses: Sequence[str], references: Sequence[str]) -> bool:
    """Whether translations share hardly more words with their references than with the next lines.

    Rare words count more: a word of n references counts 1/n.
    """
    if len(hypotheses) < FEWEST:
        return False
    outputs, targets = (
        [frozenset(split_words(normalize(text))) for text in side]
        for side in (hypotheses, references)
    )
    frequency = Counter(word for target in targets for word in target)
    aligned, *shifted = (_shared(outputs, targets, step, frequency) for step in (0, 1, -1))
    return aligned <= MARGIN * max(shifted)


def _shared(
    outputs: Sequence[frozenset[str]],
    targets: Sequence[frozenset[str]],
    step: int,
    frequency: Counter[str],
) -> float:
    """Weighted count of words shared with the references `step` lines later, cyclically."""
    total = len(targets)
    return fsum(
        1 / frequency[word]
        for row, output in enumerate(outputs)
        for word in output & targets[(row + step) % total]
    )
