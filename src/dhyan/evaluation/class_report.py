"""Class report: precision, recall and F1 of each class or entity type, and the confusion matrix."""

from collections.abc import Sequence
from dataclasses import dataclass

from dhyan.evaluation.classification import f1
from dhyan.evaluation.metric import ratio
from dhyan.evaluation.metrics import Counts

MOST_CLASSES = 12  # of a confusion matrix in a terminal


@dataclass(frozen=True)
class ClassScore:
    """The scores of a class, in per cent, and how often it is predicted and in the references."""

    name: str
    precision: float
    recall: float
    f1: float
    predicted: int
    references: int


@dataclass(frozen=True)
class ClassReport:
    """Every class with its scores, the most frequent first; `metric` is what they belong to.

    `confusion[row][column]` is how often the class of the row was predicted as that of the column;
    it is None for spans, which have no partner when they are wrong.
    """

    metric: str
    classes: tuple[ClassScore, ...]
    confusion: tuple[tuple[int, ...], ...] | None = None

    def lines(self) -> list[str]:
        """The report as a table for a terminal."""
        names = [_shown(score.name) for score in self.classes]
        width = max(12, *map(len, names))
        heads = ("precision", "recall", "F1", "references", "predicted")
        lines = [f"{'class':>{width}}" + "".join(f" {head:>10}" for head in heads)]
        for name, score in zip(names, self.classes, strict=True):
            shares = "".join(f" {x:>10.2f}" for x in (score.precision, score.recall, score.f1))
            lines.append(f"{name:>{width}}{shares} {score.references:>10,} {score.predicted:>10,}")
        if self.confusion:
            lines += ["", *_matrix(names, self.confusion, width)]
        return lines


def class_report(counts: Counts) -> ClassReport | None:
    """The report of a metric that counts classes: accuracy, macro-F1, tag accuracy or span F1.

    None of another metric, or if there is no class, as in tags without any span.

    >>> from dhyan.evaluation.metrics import count
    >>> counts = count(["good", "bad", "good"], ["good", "bad", "bad"], metrics=["macro_f1"])
    >>> class_report(counts["macro_f1"]).confusion
    ((1, 1), (0, 1))
    """
    if counts.metric.classes is None:
        return None
    found = counts.metric.classes(counts.totals())
    names = sorted(found.names(), key=lambda name: (-found.references.get(name, 0), name))
    if not names:
        return None
    scores = []
    for name in names:
        correct, predicted, gold = (
            group.get(name, 0) for group in (found.correct, found.predicted, found.references)
        )
        shares = ratio(correct, predicted), ratio(correct, gold), f1(correct, predicted, gold)
        scores.append(ClassScore(name, *shares, int(predicted), int(gold)))
    matrix = None
    if found.confusion is not None:
        pairs = found.confusion
        matrix = tuple(tuple(int(pairs.get((row, name), 0)) for name in names) for row in names)
    return ClassReport(counts.key, tuple(scores), matrix)


def _matrix(names: Sequence[str], confusion: Sequence[Sequence[int]], width: int) -> list[str]:
    """A row for each class of the references, a column for each prediction."""
    shown = names[:MOST_CLASSES]
    cells = [[f"{count:,}" for count in row[: len(shown)]] for row in confusion[: len(shown)]]
    cell = max(len(text) for row in [shown, *cells] for text in row)
    lines = ["confusion matrix: rows are references, columns predictions"]
    for name, row in zip(["", *shown], [shown, *cells], strict=True):
        lines.append(f"{name:>{width}} " + " ".join(f"{text:>{cell}}" for text in row))
    if len(names) > len(shown):
        lines.append(f"{len(names) - len(shown):,} rarer classes are left out")
    return lines


def _shown(name: str) -> str:
    return name or "(none)"
