"""BLEU, chrF++ and TER by sacreBLEU: counts per sentence, corpus scores and signatures.

The score of any selection of sentences follows from its counts, which makes resampling cheap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unicodedata import category

import numpy as np
from jaxtyping import Float, Num, Shaped
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dhyan.errors import UserError
from dhyan.text.normalize import normalize

NAMES = {"bleu": "BLEU", "chrf": "chrF++", "ter": "TER"}
DEFAULT_METRICS = ("bleu", "chrf")  # TER searches for shifted phrases, which is slow
LOWER_IS_BETTER = {"ter"}
NORMALIZED = "|text:dhyan-normal"
LATIN = set(
    "af az bs ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it lt lv ms nb nl nn no pl pt "
    "ro sk sl sq sv sw tl tr uz vi xh yo zu".split()
)
UNSPACED = {"zh": "zh", "ja": "char", "km": "char", "lo": "char", "my": "char", "th": "char"}
SCRIPTS = {  # Unicode ranges to guess the language from, where none is given
    "zh": ("\u4e00", "\u9fff"),
    "ja": ("\u3040", "\u30ff"),
    "th": ("\u0e00", "\u0e7f"),
    "en": ("A", "\u024f"),
}


@dataclass(frozen=True)
class Counts:
    """One metric's counts of N sentences, K for each; the score is a function of their sum."""

    key: str
    metric: Metric
    table: Num[np.ndarray, "N K"]
    normalized: bool = False

    @property
    def name(self) -> str:
        """The name as papers write it."""
        return NAMES[self.key]

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.table)

    def of(self, rows: Sequence[int]) -> "Counts":
        """The counts of some of the sentences."""
        return replace(self, table=self.table[list(rows)])

    def value(self, rows: Sequence[int] | None = None) -> float:
        """The corpus score of all sentences, or of some."""
        chosen = self.table if rows is None else self.table[list(rows)]
        return self._score(chosen.sum(axis=0).tolist())

    def values(self, selections: Shaped[np.ndarray, "R N"]) -> Float[np.ndarray, " R"]:
        """Scores of R selections, given as how often each takes a sentence."""
        sums = selections.astype(np.float64) @ self.table
        return np.array([self._score(total) for total in sums.tolist()])

    def _score(self, total: list[Any]) -> float:
        """sacreBLEU's score for summed counts."""
        return float(self.metric._compute_score_from_stats(total).score)

    def signature(self, marks: Mapping[str, object] | None = None) -> str:
        """sacreBLEU's signature; resampling is marked by `bs`, `ar` and `seed`."""
        signature = self.metric.get_signature()
        for key, value in (marks or {}).items():
            signature.update(key, value)
        return f"{signature}{NORMALIZED if self.normalized else ''}"


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
) -> dict[str, Score]:
    """Corpus scores of translations against one reference each: BLEU and chrF++, or those named.

    `metrics` are among bleu, chrf and ter.
    """
    counts = count(hypotheses, references, language=language, tokenizer=tokenizer, metrics=metrics)
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
            key in LOWER_IS_BETTER,
        )
        for key, metric_counts in counts.items()
    }


def count(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    others: Sequence[Sequence[str]] = (),
    language: str = "",
    tokenizer: str = "",
    metrics: Sequence[str] = tuple(NAMES),
    raw: bool = False,
) -> dict[str, Counts]:
    """The counts of every metric, of translations against one reference each.

    `others` are further references for each sentence, as many as it has. An empty one counts,
    as in sacreBLEU's command line.

    BLEU's tokenizer is named, or follows from the language, or from the references; TER's follows
    from it. Both sides are normalised first (NFC, plain quotes and spaces), so that two encodings of
    one Devanagari character compare equal; where that changed any text, the signature says so. `raw`
    leaves the texts as they are, as sacreBLEU's command line does.
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
    form = str if raw else normalize
    outputs, targets = [form(text) for text in hypotheses], [form(text) for text in references]
    further = [[form(text) for text in alternatives] for alternatives in others]
    changed = [outputs, targets, further] != [
        list(hypotheses),
        list(references),
        [list(alternatives) for alternatives in others],
    ]
    streams: list[Any] = [targets, *_streams(further)]
    tokenizer = tokenizer or bleu_tokenizer(language, references)
    counts = {}
    for key in check_metrics(metrics):
        metric = _metric(key, tokenizer)
        # sacreBLEU's own tests of significance start from these rows; nothing public returns them.
        rows = metric._extract_corpus_statistics(outputs, streams)
        counts[key] = Counts(key, metric, np.array(rows), changed)
    return counts


def _streams(others: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """Further references as sacreBLEU's streams: the n-th of every sentence, or None."""
    most = max(map(len, others), default=0)
    return [
        [alternatives[n] if n < len(alternatives) else None for alternatives in others]
        for n in range(most)
    ]


def check_metrics(keys: Sequence[str]) -> list[str]:
    """Metric names in lower case; an unknown one is an error."""
    names = [key.strip().lower() for key in keys]
    for key in names:
        if key not in NAMES:
            raise UserError(f"metric {key!r} is not known: give one or more of {', '.join(NAMES)}")
    return names


def _metric(key: str, tokenizer: str) -> Metric:
    """sacreBLEU's metric, with its options by BLEU's tokenizer.

    TER keeps its defaults for Latin scripts. For others it splits ASCII punctuation from words; a
    danda stays, since TER has no option for it. Chinese and Japanese are split into characters.
    """
    if key == "bleu":
        return BLEU(tokenize=tokenizer)
    if key == "chrf":
        return CHRF(word_order=2)
    return TER(normalized=tokenizer != "13a", asian_support=tokenizer in ("zh", "char"))


def bleu_tokenizer(language: str, references: Sequence[str]) -> str:
    """sacreBLEU's tokenizer for a language, or for the script of most of the references.

    13a splits off ASCII punctuation only, so it is for Latin scripts; Hindi and all others get
    `intl`, which splits a danda from its word, or `char` where words are not spaced.
    """
    code = language.partition("-")[0] or _language_by_script(references)
    if code in LATIN:
        return "13a"
    return UNSPACED.get(code, "intl")


def _language_by_script(references: Sequence[str]) -> str:
    characters = [c for text in references[:1000] for c in text if category(c)[0] in "LM"]
    for code, (first, last) in SCRIPTS.items():
        if 2 * sum(first <= c <= last for c in characters) > len(characters):
            return code
    return ""
