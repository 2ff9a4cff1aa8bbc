"""What sacreBLEU counts in each sentence: the score of any selection of them follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Num, Shaped
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dhyan.errors import UserError
from dhyan.evaluation.bleu_tokenizer import bleu_tokenizer
from dhyan.text.normalize import normalize

NAMES = {"bleu": "BLEU", "chrf": "chrF++", "ter": "TER"}
QUICK = ("bleu", "chrf")  # TER looks for shifted phrases, which takes its time
LOWER_IS_BETTER = {"ter"}
NORMALIZED = "|text:dhyan-normal"


@dataclass(frozen=True)
class Counts:
    """One metric's counts of N sentences, K for each; the score is a function of their sum."""

    key: str
    metric: Metric
    table: Num[np.ndarray, "N K"]
    normalized: bool = False

    @property
    def name(self) -> str:
        """As papers write it."""
        return NAMES[self.key]

    @property
    def sentences(self) -> int:
        """How many were counted."""
        return len(self.table)

    def of(self, rows: Sequence[int]) -> "Counts":
        """The counts of some of the sentences."""
        return replace(self, table=self.table[list(rows)])

    def value(self, rows: Sequence[int] | None = None) -> float:
        """The corpus score of all sentences, or of some."""
        chosen = self.table if rows is None else self.table[list(rows)]
        return self._score(chosen.sum(axis=0).tolist())

    def values(self, picked: Shaped[np.ndarray, "R N"]) -> Float[np.ndarray, " R"]:
        """Scores of R selections, each of which takes a sentence so many times."""
        sums = picked.astype(np.float64) @ self.table
        return np.array([self._score(total) for total in sums.tolist()])

    def _score(self, total: list[Any]) -> float:
        """What sacreBLEU gives for counts already added up."""
        return float(self.metric._compute_score_from_stats(total).score)

    def signature(self, marks: Mapping[str, object] | None = None) -> str:
        """How the score was reached; sacreBLEU marks resampling by `bs`, `ar` and `seed`."""
        signature = self.metric.get_signature()
        for key, value in (marks or {}).items():
            signature.update(key, value)
        return f"{signature}{NORMALIZED if self.normalized else ''}"


def count(
    said: Sequence[str],
    references: Sequence[str],
    *,
    others: Sequence[Sequence[str]] = (),
    language: str = "",
    tokenizer: str = "",
    metrics: Sequence[str] = tuple(NAMES),
) -> dict[str, Counts]:
    """The counts of every metric, for translations against a reference each.

    `others` are further references for each sentence, as many as it has; empty ones do not count.

    BLEU's tokenizer is named, or follows from the language, or from the references; TER's follows
    from it. Both sides are brought to dhyan's normal form first (NFC, plain quotes and spaces), so
    that two spellings of one Devanagari letter are one letter to the metric too; where that
    changed any text, the signature says so.
    """
    if len(said) != len(references):
        raise UserError(f"{len(said)} translations for {len(references)} references: one for each")
    if not said:
        raise UserError("nothing to score: no sentences")
    if others and len(others) != len(said):
        raise UserError(f"further references for {len(others)} of {len(said)} sentences: for each")
    ours, theirs = [normalize(text) for text in said], [normalize(text) for text in references]
    streams: list[Any] = [theirs, *_streams(others)]
    further = [text for own in others for text in own if text.strip()]
    changed = any(normalize(text) != text for text in (*said, *references, *further))
    tokenizer = tokenizer or bleu_tokenizer(language, references)
    found = {}
    for key in known_metrics(metrics):
        metric = _metric(key, tokenizer)
        # sacreBLEU's own tests of significance start from these rows; nothing public returns them.
        rows = metric._extract_corpus_statistics(ours, streams)
        found[key] = Counts(key, metric, np.array(rows), changed)
    return found


def _streams(others: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """Further references as sacreBLEU wants them: one of each sentence a stream, None for none."""
    kept = [[normalize(text) for text in own if text.strip()] for own in others]
    most = max(map(len, kept), default=0)
    return [[own[n] if n < len(own) else None for own in kept] for n in range(most)]


def known_metrics(keys: Sequence[str]) -> list[str]:
    """The names of metrics as a person writes them, or a fault."""
    wanted = [key.strip().lower() for key in keys]
    for key in wanted:
        if key not in NAMES:
            raise UserError(f"metric {key!r} is not known: give one or more of {', '.join(NAMES)}")
    return wanted


def _metric(key: str, tokenizer: str) -> Metric:
    """sacreBLEU's metric for one direction.

    TER keeps sacreBLEU's defaults for Latin letters. For others it parts ASCII punctuation from
    words, as it would stick to them; a danda stays, for TER has no option that knows it. Chinese
    and Japanese are parted into characters.
    """
    if key == "bleu":
        return BLEU(tokenize=tokenizer)
    if key == "chrf":
        return CHRF(word_order=2)
    return TER(normalized=tokenizer != "13a", asian_support=tokenizer in ("zh", "char"))
