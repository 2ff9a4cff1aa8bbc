"""Corpus scores by metric: counts per sentence, their sums, and signatures.

The score of any selection of sentences follows from its counts, which makes resampling cheap.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Num, Shaped

from dhyan.errors import UserError, spell
from dhyan.evaluation.metric import Metric, Totals, find_metric
from dhyan.evaluation.sacrebleu_metrics import bleu_tokenizer

DEFAULT_METRICS = ("bleu", "chrf")  # of translations; TER searches for shifted phrases: slow
TRANSLATION_METRICS = (*DEFAULT_METRICS, "ter")
NORMALIZED = "|text:dhyan-normal"
MAX_CELLS = 2**27  # of a table of counts


@dataclass(frozen=True)
class Counts:
    """One metric's counts of N sentences, by K columns; the score is a function of their sum.

    `reference_count` is that of every sentence, -1 if they differ. `normalized` says that texts
    were changed before they were counted.
    """

    metric: Metric
    columns: tuple[object, ...]
    table: Num[np.ndarray, "N K"]
    reference_count: int = 1
    normalized: bool = False

    @property
    def key(self) -> str:
        """The metric's name."""
        return self.metric.name

    @property
    def name(self) -> str:
        """The name as papers write it."""
        return self.metric.label

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.table)

    def of(self, rows: Sequence[int]) -> "Counts":
        """The counts of some of the sentences."""
        return replace(self, table=self.table[list(rows)])

    def joined(self, other: "Counts") -> "Counts":
        """The counts of these sentences, then those of another system."""
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        tables = [counts._table(columns) for counts in (self, other)]
        return replace(self, columns=columns, table=np.concatenate(tables))

    def totals(self, rows: Sequence[int] | None = None) -> Totals:
        """The sums over all sentences, or over some."""
        chosen = self.table if rows is None else self.table[list(rows)]
        return Counter(dict(zip(self.columns, chosen.sum(axis=0).tolist(), strict=True)))

    def value(self, rows: Sequence[int] | None = None) -> float:
        """The corpus score of all sentences, or of some."""
        return self.metric.score(self.totals(rows))

    def values(self, selections: Shaped[np.ndarray, "R N"]) -> Float[np.ndarray, " R"]:
        """Scores of R selections, given as how often each takes a sentence."""
        sums = (selections.astype(np.float64) @ self.table).tolist()
        totals = (Counter(dict(zip(self.columns, row, strict=True))) for row in sums)
        return np.array([self.metric.score(row) for row in totals], dtype=np.float64)

    def signature(self, marks: Mapping[str, object] | None = None) -> str:
        """How the score was computed; resampling is marked by `bs`, `ar` and `seed`."""
        signature = self.metric.sign(self.reference_count, marks or {})
        return f"{signature}{NORMALIZED if self.normalized else ''}"

    def _table(self, columns: tuple[object, ...]) -> Num[np.ndarray, "N K2"]:
        """The table with other columns, which include these."""
        places = {column: place for place, column in enumerate(columns)}
        table = np.zeros((len(self.table), len(columns)), self.table.dtype)
        table[:, [places[column] for column in self.columns]] = self.table
        return table


@dataclass(frozen=True)
class Score:
    """A score and the signature that says how it was computed."""

    name: str
    value: float
    signature: str
    lower_is_better: bool = False


def score(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    language: str = "",
    tokenizer: str = "",
    metrics: Sequence[str] = DEFAULT_METRICS,
    sources: Sequence[str] = (),
) -> dict[str, Score]:
    """Corpus scores of outputs against one reference each: BLEU and chrF++, or those named.

    `metrics` are names of registered metrics, such as `accuracy` or `rougeL`; COMET reads the
    `sources` too.
    """
    counts = count(
        hypotheses,
        references,
        sources=sources,
        language=language,
        tokenizer=tokenizer,
        metrics=metrics,
    )
    return scores_of(counts)


def scores_of(
    counts: Mapping[str, Counts],
    rows: Sequence[int] | None = None,
    *,
    marks: Mapping[str, object] | None = None,
) -> dict[str, Score]:
    """The scores that counts come to, over all sentences or some; `marks` join the signatures."""
    return {
        key: Score(
            metric_counts.name,
            metric_counts.value(rows),
            metric_counts.signature(marks),
            metric_counts.metric.lower_is_better,
        )
        for key, metric_counts in counts.items()
    }


def count(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    others: Sequence[Sequence[str]] = (),
    sources: Sequence[str] = (),
    language: str = "",
    tokenizer: str = "",
    metrics: Sequence[str] = TRANSLATION_METRICS,
    raw: bool = False,
) -> dict[str, Counts]:
    """The counts of every metric, of outputs against one reference each.

    `others` are further references for each sentence, as many as it has. An empty one counts,
    as in sacreBLEU's command line. `sources` are for metrics that read them.

    BLEU's tokenizer is named, or follows from the language, or from the references; TER's follows
    from it. Both sides are normalised first (NFC, plain quotes and spaces; of labels, tags and
    other symbols the spaces alone), so that two encodings of one Devanagari character compare
    equal; where that changed any text, the signature says so. `raw` leaves the texts as they are,
    as sacreBLEU's command line does.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses)} translations for {len(references)} references: one for each"
        )
    if not hypotheses:
        raise UserError("nothing to score: no sentences")
    if others and len(others) != len(hypotheses):
        raise UserError(
            f"further references for {len(others)} of {len(hypotheses)} sentences: for each"
        )
    further = others or [()] * len(references)
    texts = [
        [hypothesis, reference, *alternatives]
        for hypothesis, reference, alternatives in zip(hypotheses, references, further, strict=True)
    ]
    tokenizer = tokenizer or bleu_tokenizer(language, references)
    return {
        key: _count(find_metric(key).with_tokenizer(tokenizer), texts, sources, raw=raw)
        for key in check_metrics(metrics)
    }


def _count(
    metric: Metric, texts: Sequence[Sequence[str]], sources: Sequence[str], *, raw: bool
) -> Counts:
    """The counts of a metric of sentences, each an output and its references."""
    form = str if raw else metric.normalize
    prepared = [[form(text) for text in row] for row in texts]
    if metric.corpus_counts is None:
        rows = [metric.counts(hypothesis, references) for hypothesis, *references in prepared]
    elif len(sources) != len(texts) or not any(sources):
        remedy = spell(command_line="name them with --source", python="give their texts")
        raise UserError(f"metric {metric.name!r} reads the sources; {remedy}")
    else:
        hypotheses, references = [row[0] for row in prepared], [row[1:] for row in prepared]
        rows = list(metric.corpus_counts(sources, hypotheses, references))
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    if len(rows) * len(columns) > MAX_CELLS:
        raise UserError(
            f"metric {metric.name!r}: {len(columns):,} kinds of counts in {len(rows):,} sentences are "
            f"too many; it is for few classes, and exact for other texts"
        )
    table = np.array([[row.get(column, 0) for column in columns] for row in rows])
    numbers = {len(row) - 1 for row in texts}
    return Counts(
        metric,
        columns,
        table,
        reference_count=numbers.pop() if len(numbers) == 1 else -1,
        normalized=prepared != [list(row) for row in texts],
    )


def check_metrics(keys: Sequence[str]) -> list[str]:
    """Metric names as registered, whatever their case; an unknown one is an error."""
    return [find_metric(key.strip()).name for key in keys]
