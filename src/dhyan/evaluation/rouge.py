"""ROUGE-1, ROUGE-2 and ROUGE-L (Lin, 2004) over words of any script.

The package rouge-score keeps ASCII letters and digits alone, so it finds no word in Devanagari and
scores identical texts 0. Here a word is a run of letters, digits and marks; on ASCII text both
give the same figures.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from dhyan.data.filters import split_words
from dhyan.evaluation.edit_distance import common_subsequence
from dhyan.evaluation.metric import Totals, ratio

Overlap = Callable[[Sequence[str], Sequence[str]], tuple[int, int, int]]
"""What both sides share, and how much of it the first and the second have."""


def rouge_counts(overlap: Overlap) -> Callable[[str, Sequence[str]], Totals]:
    """F1 of a sentence, the highest over its references; the corpus score is the mean."""

    def counts(hypothesis: str, references: Sequence[str]) -> Totals:
        words = rouge_words(hypothesis)
        scores = [_f1(*overlap(words, rouge_words(reference))) for reference in references]
        return {"f1": max(scores), "sentences": 1}

    return counts


def rouge_words(text: str) -> list[str]:
    """The words in lower case, without punctuation; a vowel sign belongs to its word."""
    return split_words(text.lower())


def mean_f1(totals: Totals) -> float:
    """The mean of the sentences' F1, in per cent."""
    return ratio(totals["f1"], totals["sentences"])


def shared_words(hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int, int]:
    """Words in common, each as often as on the side that has fewer of it."""
    shared = (Counter(hypothesis) & Counter(reference)).total()
    return shared, len(hypothesis), len(reference)


def shared_bigrams(hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int, int]:
    """Pairs of neighbouring words in common."""
    ours, theirs = Counter(pairwise(hypothesis)), Counter(pairwise(reference))
    return (ours & theirs).total(), ours.total(), theirs.total()


def shared_subsequence(hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int, int]:
    """The longest common subsequence of words."""
    return common_subsequence(hypothesis, reference), len(hypothesis), len(reference)


def _f1(shared: int, hypothesis: int, reference: int) -> float:
    precision, recall = shared / max(hypothesis, 1), shared / max(reference, 1)
    return 2 * precision * recall / (precision + recall) if shared else 0.0
