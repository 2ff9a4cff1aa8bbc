"""Confidence intervals and significance tests: bootstrap resampling, approximate randomisation."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from dhyan.errors import UserError, spell
from dhyan.evaluation.metrics import Counts, Score, scores_of

SEED = 12345  # sacreBLEU's own, so that its command line gives the same figures
RESAMPLES, TRIALS = 1000, 10_000
CHUNK = 2**22  # sentences drawn at a time, which bounds memory
WORD = 32  # random bits drawn at a time, so that chunks do not change the sequence
TRIALS_A_RESAMPLE = 10  # a trial is cheaper than a resample, and small p values need more of them


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval of a score, the mean of the resamples, and half the width."""

    low: float
    high: float
    mean: float
    margin: float


@dataclass(frozen=True)
class Difference:
    """A system's score less the baseline's, and the p value."""

    value: float
    p: float


def interval(counts: Counts, *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """A 95 % confidence interval by bootstrap resampling (Koehn, 2004)."""
    scores = np.sort(bootstrap_scores(counts, resamples=resamples, seed=seed))
    tail = resamples // 40
    low, high = float(scores[tail]), float(scores[-1 - tail])
    return Interval(low, high, float(scores.mean()), (high - low) / 2)


def paired_bootstrap(
    baseline: Counts, system: Counts, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Difference:
    """Paired bootstrap resampling (Koehn, 2004): both are scored on the same drawn sentences.

    p is the share of resampled differences, less their mean, that are as large as the observed
    one: a one-sided test, less conservative than randomisation. It equals sacreBLEU's p except
    that ties count, so that equal systems have a p of 1.
    """
    _same_sentences(baseline, system)
    value = system.value() - baseline.value()
    scores, baselines = (
        bootstrap_scores(counts, resamples=resamples, seed=seed) for counts in (system, baseline)
    )
    differences = np.abs(scores - baselines)
    return Difference(value, _p_value(differences - differences.mean(), abs(value)))


def randomisation(
    baseline: Counts, system: Counts, *, trials: int = TRIALS, seed: int = SEED
) -> Difference:
    """Approximate randomisation (Riezler and Maxwell, 2005): outputs are swapped at random.

    p is the share of shuffled pairs that differ at least as much as the two systems.
    """
    _same_sentences(baseline, system)
    value = system.value() - baseline.value()
    both = system.joined(baseline)
    differences = []
    for swap in _random_swaps(system.sentences, trials, np.random.default_rng(seed)):
        first, second = (both.values(np.hstack(sides)) for sides in ((swap, ~swap), (~swap, swap)))
        differences.append(np.abs(first - second))
    return Difference(value, _p_value(np.concatenate(differences), abs(value)))


def bootstrap_scores(counts: Counts, *, resamples: int, seed: int) -> Float[np.ndarray, " R"]:
    """The scores of resamples from this one, with replacement, as large as it is."""
    check_resamples(resamples)
    check_sentences(counts.sentences)
    selections = _resamples(counts.sentences, resamples, np.random.default_rng(seed))
    return np.concatenate([counts.values(selection) for selection in selections])


def check_resamples(resamples: int) -> None:
    """Refuse fewer than two resamples."""
    if resamples < 2:
        raise UserError(f"{resamples} resamples: draw at least two")


def check_sentences(sentences: int) -> None:
    """Refuse a test set of which every resample is the same."""
    if sentences < 2:
        remedy = spell(command_line="add --bootstrap 0", python="score without resampling")
        raise UserError(f"one sentence cannot be resampled: give more, or {remedy}")


def _resamples(
    sentences: int, resamples: int, generator: np.random.Generator
) -> Iterator[Int[np.ndarray, "R N"]]:
    """How often each sentence was drawn, some resamples at a time."""
    step = max(CHUNK // sentences, 1)
    for first in range(0, resamples, step):
        count = min(step, resamples - first)
        rows = generator.choice(sentences, size=(count, sentences), replace=True)
        yield np.stack([np.bincount(row, minlength=sentences) for row in rows])


def _random_swaps(
    sentences: int, trials: int, generator: np.random.Generator
) -> Iterator[Bool[np.ndarray, "R N"]]:
    """A random bit for every sentence, some trials at a time; the chunks do not change them."""
    step = max(CHUNK // sentences // WORD, 1) * WORD
    for first in range(0, trials, step):
        count = min(step, trials - first)
        yield generator.integers(2, size=(count, sentences), dtype=bool)


def _p_value(differences: Float[np.ndarray, " R"], observed: float) -> float:
    """The share of differences as large as the observed one, which counts among them."""
    return float((np.sum(differences >= observed) + 1) / (len(differences) + 1))


def _same_sentences(baseline: Counts, system: Counts) -> None:
    if baseline.sentences != system.sentences:
        counts = f"{system.sentences} sentences against {baseline.sentences}"
        raise UserError(f"{counts}: two systems are compared on the same ones")


@dataclass(frozen=True)
class Resampling:
    """Number of resamples (0 for none), seed, and the test that compares two systems."""

    resamples: int = RESAMPLES
    seed: int = SEED
    test: Literal["bootstrap", "randomisation"] = "bootstrap"

    def __post_init__(self) -> None:
        if self.resamples:
            check_resamples(self.resamples)

    def check(self, sentences: int) -> None:
        """Refuse a test set that is too small to resample."""
        if self.resamples:
            check_sentences(sentences)

    @property
    def trials(self) -> int:
        """Trials of approximate randomisation."""
        return TRIALS_A_RESAMPLE * self.resamples

    def interval(self, counts: Counts) -> Interval:
        """The confidence interval of a score."""
        return interval(counts, resamples=self.resamples, seed=self.seed)

    def difference(self, baseline: Counts, system: Counts) -> Difference:
        """The difference of two scores, with its p value."""
        if self.test == "bootstrap":
            return paired_bootstrap(baseline, system, resamples=self.resamples, seed=self.seed)
        return randomisation(baseline, system, trials=self.trials, seed=self.seed)

    def marks(self, *, paired: bool) -> dict[str, object]:
        """Its fields in sacreBLEU's signatures."""
        if not self.resamples:
            return {}
        shuffled = {"ar": self.trials} if paired and self.test == "randomisation" else {}
        return {"bs": self.resamples, **shuffled, "seed": self.seed}


@dataclass(frozen=True)
class SystemScores:
    """Scores by metric, with intervals and differences to a baseline where resampled."""

    scores: dict[str, Score]
    intervals: dict[str, Interval] = field(default_factory=dict)
    differences: dict[str, Difference] = field(default_factory=dict)


def score_system(
    counts: Mapping[str, Counts],
    *,
    baseline: Mapping[str, Counts] | None = None,
    resampling: Resampling | None = None,
    on_progress: Callable[[str], None] = lambda line: None,
) -> SystemScores:
    """Score a system, and compare it with a baseline on the same sentences if one is given.

    `on_progress` is called with a line after each metric is resampled.
    """
    resampling = resampling or Resampling()
    scores = scores_of(counts, marks=resampling.marks(paired=baseline is not None))
    if not resampling.resamples:
        return SystemScores(scores)
    intervals, differences = dict[str, Interval](), dict[str, Difference]()
    for key, metric_counts in counts.items():
        intervals[key] = resampling.interval(metric_counts)
        on_progress(f"{key}: {resampling.resamples:,} resamples")
        if baseline:
            differences[key] = resampling.difference(baseline[key], metric_counts)
            on_progress(f"{key}: compared with the first")
    return SystemScores(scores, intervals, differences)
