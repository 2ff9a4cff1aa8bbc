"""A metric as a record: counts of a sentence whose sums give the score; and the registry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from dhyan.errors import UserError, spell
from dhyan.text.normalize import normalize

Number = int | float
Totals = Mapping[Any, Number]
"""Numbers by what they count; what is absent counts 0."""
CorpusCounts = Callable[[Sequence[str], Sequence[str], Sequence[Sequence[str]]], Sequence[Totals]]
"""Takes sources, hypotheses and their references; returns the counts of each hypothesis."""


def signature_of(**fields: object) -> Callable[[int, Mapping[str, object]], str]:
    """The signature function of a metric of the package, in the form of sacreBLEU's.

    `nrefs` is the number of references, `bs`, `ar` and `seed` are marks of resampling.
    """

    def sign(reference_count: int, marks: Mapping[str, object]) -> str:
        from dhyan.version import __version__

        references = "var" if reference_count < 0 else reference_count
        signed = {"nrefs": references, **marks, **fields, "version": f"dhyan-{__version__}"}
        return "|".join(f"{name}:{value}" for name, value in signed.items())

    return sign


def single_spaces(text: str) -> str:
    """The text with single spaces and nothing else changed, for labels, tags and other symbols."""
    return " ".join(text.split())


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A score of a corpus that follows from the summed counts of its sentences.

    `counts` are those of one hypothesis against its references, `score` is that of their sum over
    any sentences, so intervals, significance tests and slices need nothing else. `sign` makes the
    signature of the number of references (-1: not the same everywhere) and of the marks of
    resampling. `normalize` prepares the texts of both sides. `for_tokenizer` gives the same metric
    for another tokenizer of sacreBLEU. `classes` reads the totals of a metric that counts classes,
    for `class_report`. A metric that reads the sources too has `corpus_counts`, of all sources,
    hypotheses and references at once, and its `counts` are not asked for.
    """

    name: str
    label: str
    about: str
    counts: Callable[[str, Sequence[str]], Totals]
    score: Callable[[Totals], float]
    sign: Callable[[int, Mapping[str, object]], str]
    lower_is_better: bool = False
    normalize: Callable[[str], str] = normalize
    for_tokenizer: Callable[[str], "Metric"] | None = None
    classes: Callable[[Totals], "ClassCounts"] | None = None
    corpus_counts: CorpusCounts | None = None

    def with_tokenizer(self, tokenizer: str) -> "Metric":
        """The metric with BLEU's tokenizer of that name, if it depends on one."""
        return self.for_tokenizer(tokenizer) if self.for_tokenizer else self


@dataclass(frozen=True)
class ClassCounts:
    """How often each class is right, predicted and in the references, 0 for others.

    `confusion` has pairs (reference, prediction), if every prediction answers one reference.
    """

    correct: Mapping[str, Number]
    predicted: Mapping[str, Number]
    references: Mapping[str, Number]
    confusion: Mapping[tuple[str, str], Number] | None = None

    def names(self) -> list[str]:
        """The classes that occur."""
        counts = (self.references, self.predicted)
        return [name for name in dict.fromkeys(chain(*counts)) if any(c.get(name) for c in counts)]


def best_of(
    hypothesis: str,
    references: Sequence[str],
    counts: Callable[[str, str], Totals],
    score: Callable[[Totals], float],
) -> Totals:
    """The counts against the reference with the highest score, the first of equals."""
    return max((counts(hypothesis, reference) for reference in references), key=score)


def ratio(part: Number, whole: Number) -> float:
    """A share in per cent; 0 of nothing."""
    return 100 * part / whole if whole else 0.0


_metrics: dict[str, Metric] = {}


def register_metric(metric: Metric) -> Metric:
    """Make a metric known by its name: to tasks, `dhyan evaluate --metrics`, early stopping.

    >>> from dhyan.evaluation.metric import Metric, signature_of
    >>> length = Metric(
    ...     name="length_ratio",
    ...     label="length ratio",
    ...     about="Words of the outputs, in per cent of those of the references.",
    ...     counts=lambda hypothesis, references: {
    ...         "hypothesis": len(hypothesis.split()),
    ...         "reference": len(references[0].split()),
    ...     },
    ...     score=lambda totals: 100 * totals["hypothesis"] / totals["reference"],
    ...     sign=signature_of(tok="spaces"),
    ... )
    >>> metric = dhyan.register_metric(length)
    >>> dhyan.evaluate(["एक दो तीन"], [("one two", "एक दो")], metrics=["length_ratio"])
    Evaluation(length ratio 150.00; sentences: 1)
    """
    if metric.name in _metrics and _metrics[metric.name] != metric:
        raise ValueError(f"a metric {metric.name!r} is registered already: choose another name")
    if metric.name == "loss":
        raise ValueError("'loss' is the loss of validation: choose another name")
    _metrics[metric.name] = metric
    return metric


def metric_names() -> list[str]:
    """The names of all metrics, in the order of their registration."""
    return list(_metrics)


def find_metric(name: str) -> Metric:
    """The metric of that name, whatever its case."""
    names = {known.lower(): known for known in _metrics}
    if name.lower() not in names:
        remedy = spell(command_line="--plugin FILE", python="dhyan.register_metric")
        raise UserError(
            f"metric {name!r} is not known: give one or more of {', '.join(_metrics)}; one of your "
            f"own is made known with {remedy}"
        )
    return _metrics[names[name.lower()]]


def metric_label(name: str) -> str:
    """The name of a metric as papers write it; another name, such as the loss, stays."""
    return _metrics[name].label if name in _metrics else name
