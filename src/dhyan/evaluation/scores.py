"""BLEU, chrF++ and TER by sacreBLEU, with signatures, on text in one normal form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dhyan.evaluation.metric_counts import LOWER_IS_BETTER, QUICK, Counts, count


@dataclass(frozen=True)
class Score:
    """One number and the signature that says how it was reached."""

    name: str
    value: float
    signature: str
    lower_is_better: bool = False


def score(
    said: Sequence[str],
    references: Sequence[str],
    *,
    language: str = "",
    tokenizer: str = "",
    metrics: Sequence[str] = QUICK,
) -> dict[str, Score]:
    """Corpus scores of translations against one reference each: BLEU and chrF++, or those named.

    `metrics` are among bleu, chrf and ter.
    """
    found = count(said, references, language=language, tokenizer=tokenizer, metrics=metrics)
    return scores_of(found)


def scores_of(
    counts: Mapping[str, Counts],
    rows: Sequence[int] | None = None,
    *,
    marks: Mapping[str, object] | None = None,
) -> dict[str, Score]:
    """The scores that counts come to, over all sentences or some; `marks` join the signatures."""
    return {
        key: Score(one.name, one.value(rows), one.signature(marks), key in LOWER_IS_BETTER)
        for key, one in counts.items()
    }
