"""How far chance alone would carry a score, and a difference between two."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from dhyan.errors import UserError
from dhyan.evaluation.metric_counts import Counts

SEED = 12345  # sacreBLEU's own, so that its command line gives the same figures
RESAMPLES, TRIALS = 1000, 10_000
AT_ONCE = 2**22  # sentences drawn at a time, so memory stays flat
WORD = 32  # coins that are drawn with one number: whole ones, so that none is thrown away


@dataclass(frozen=True)
class Interval:
    """Where 95 % of the resampled scores lie, their mean, and half the width."""

    low: float
    high: float
    mean: float
    margin: float


@dataclass(frozen=True)
class Difference:
    """A system's score less the baseline's, and how often chance alone makes one as large."""

    value: float
    p: float


def interval(counts: Counts, *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """A 95 % confidence interval by bootstrap resampling (Koehn, 2004)."""
    scores = np.sort(resampled(counts, resamples=resamples, seed=seed))
    tail = resamples // 40
    low, high = float(scores[tail]), float(scores[-1 - tail])
    return Interval(low, high, float(scores.mean()), (high - low) / 2)


def paired_bootstrap(
    baseline: Counts, system: Counts, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Difference:
    """Paired bootstrap resampling (Koehn, 2004): both are scored on the same drawn sentences.

    p is how often the size of a drawn difference, less its mean, is as large as the one found: a
    one-sided question, which finds a difference sooner than randomisation does. It is sacreBLEU's
    figure but for ties, which that leaves out, so that equal systems would differ; here their p
    is 1.
    """
    _same_sentences(baseline, system)
    value = system.value() - baseline.value()
    ours, theirs = (resampled(one, resamples=resamples, seed=seed) for one in (system, baseline))
    drawn = np.abs(ours - theirs)
    return Difference(value, _chance(drawn - drawn.mean(), abs(value)))


def randomisation(
    baseline: Counts, system: Counts, *, trials: int = TRIALS, seed: int = SEED
) -> Difference:
    """Approximate randomisation (Riezler and Maxwell, 2005): outputs change sides by a coin.

    p is how often the shuffled systems differ by as much as the two did, ties counted.
    """
    _same_sentences(baseline, system)
    value = system.value() - baseline.value()
    both = replace(system, table=np.concatenate([system.table, baseline.table]))
    drawn = []
    for part in _coins(system.sentences, trials, np.random.default_rng(seed)):
        one, other = (both.values(np.hstack(sides)) for sides in ((part, ~part), (~part, part)))
        drawn.append(np.abs(one - other))
    return Difference(value, _chance(np.concatenate(drawn), abs(value)))


def resampled(counts: Counts, *, resamples: int, seed: int) -> Float[np.ndarray, " R"]:
    """The scores of test sets drawn from this one, with replacement, as large as it is."""
    check_resamples(resamples)
    check_sentences(counts.sentences)
    drawn = _drawn(counts.sentences, resamples, np.random.default_rng(seed))
    return np.concatenate([counts.values(picked) for picked in drawn])


def check_resamples(resamples: int) -> None:
    """Refuse so few that nothing can be said of them."""
    if resamples < 2:
        raise UserError(f"{resamples} resamples: draw at least two")


def check_sentences(sentences: int) -> None:
    """Refuse a test set of which every resample is the same."""
    if sentences < 2:
        raise UserError("one sentence cannot be resampled: give more, or add --bootstrap 0")


def _drawn(
    sentences: int, resamples: int, generator: np.random.Generator
) -> Iterator[Int[np.ndarray, "R N"]]:
    """How often each sentence was drawn, for some resamples at a time."""
    step = max(AT_ONCE // sentences, 1)
    for first in range(0, resamples, step):
        some = min(step, resamples - first)
        places = generator.choice(sentences, size=(some, sentences), replace=True)
        yield np.stack([np.bincount(row, minlength=sentences) for row in places])


def _coins(
    sentences: int, trials: int, generator: np.random.Generator
) -> Iterator[Bool[np.ndarray, "R N"]]:
    """A coin for every sentence, for some trials at a time; as if all were thrown at once."""
    step = max(AT_ONCE // sentences // WORD, 1) * WORD
    for first in range(0, trials, step):
        some = min(step, trials - first)
        yield generator.integers(2, size=(some, sentences), dtype=bool)


def _chance(drawn: Float[np.ndarray, " R"], found: float) -> float:
    """The share of drawn differences as large as the one found, itself counted among them."""
    return float((np.sum(drawn >= found) + 1) / (len(drawn) + 1))


def _same_sentences(baseline: Counts, system: Counts) -> None:
    if baseline.sentences != system.sentences:
        counts = f"{system.sentences} sentences against {baseline.sentences}"
        raise UserError(f"{counts}: two systems are compared on the same ones")
