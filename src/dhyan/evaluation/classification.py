"""Accuracy and macro-F1 of labels, tag accuracy, and span F1 of IOB2 tags."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from dhyan.evaluation.metric import ClassCounts, Number, Totals, best_of, ratio

MISSING = ""  # the label of an empty output, and of a tag without a partner
Span = tuple[str, int, int]
"""A type, and its first word and the one after its last."""


def label_counts(hypothesis: str, references: Sequence[str]) -> Totals:
    """One pair (reference, prediction); any of several references is right, else the first counts."""
    reference = hypothesis if hypothesis in references else references[0]
    return {(reference, hypothesis): 1}


def tag_counts(hypothesis: str, references: Sequence[str]) -> Totals:
    """Pairs (reference, prediction) of tags, word by word; a tag too few or too many is wrong."""
    return best_of(hypothesis, references, _tag_pairs, accuracy)


def _tag_pairs(hypothesis: str, reference: str) -> Totals:
    return Counter(zip_longest(reference.split(), hypothesis.split(), fillvalue=MISSING))


def accuracy(totals: Totals) -> float:
    """The share of pairs (reference, prediction) that are equal, in per cent."""
    correct = sum(
        count for (reference, predicted), count in totals.items() if reference == predicted
    )
    return ratio(correct, sum(totals.values()))


def macro_f1(totals: Totals) -> float:
    """The mean F1 of all classes that occur, in references or predictions, in per cent."""
    counts = confusion_counts(totals)
    scores = [
        f1(counts.correct[name], counts.predicted[name], counts.references[name])
        for name in counts.names()
    ]
    return sum(scores) / max(len(scores), 1)


def f1(correct: Number, predicted: Number, references: Number) -> float:
    """The harmonic mean of precision and recall, in per cent; 0 of nothing."""
    return ratio(2 * correct, predicted + references)


def confusion_counts(totals: Totals) -> ClassCounts:
    """The counts of each class, from pairs (reference, prediction)."""
    correct, predicted, references = (defaultdict[str, Number](int) for _ in range(3))
    for (reference, prediction), count in totals.items():
        references[reference] += count
        predicted[prediction] += count
        correct[reference] += count if reference == prediction else 0
    return ClassCounts(correct, predicted, references, totals)


def span_counts(hypothesis: str, references: Sequence[str]) -> Totals:
    """Spans that are right, predicted and in the reference, by type."""
    return best_of(hypothesis, references, _span_totals, span_f1)


def _span_totals(hypothesis: str, reference: str) -> Totals:
    predicted, gold = set(spans(hypothesis.split())), set(spans(reference.split()))
    groups = {"correct": predicted & gold, "predicted": predicted, "references": gold}
    return Counter((group, span[0]) for group, found in groups.items() for span in found)


def span_f1(totals: Totals) -> float:
    """F1 over the spans of all types (micro average), in per cent."""
    sums = defaultdict[str, Number](int)
    for (group, _), count in totals.items():
        sums[group] += count
    return f1(sums["correct"], sums["predicted"], sums["references"])


def spans(tags: Iterable[str]) -> Iterator[Span]:
    """The spans of IOB2 tags, read strictly: B-X and every I-X after it; I-X without B-X is none."""
    kind, first, open_span = "", 0, False
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, type_ = tag.partition("-")
        if prefix == "I" and open_span and type_ == kind:
            continue
        if open_span:
            yield kind, first, place
        kind, first, open_span = type_, place, prefix == "B"


def span_classes(totals: Totals) -> ClassCounts:
    """The counts of each type of span."""
    groups: dict[str, Mapping[str, Number]] = {
        group: Counter({type_: count for (name, type_), count in totals.items() if name == group})
        for group in ("correct", "predicted", "references")
    }
    return ClassCounts(groups["correct"], groups["predicted"], groups["references"])
