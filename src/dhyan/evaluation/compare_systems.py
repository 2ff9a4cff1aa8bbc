"""One system's scores with their intervals and, beside a baseline, what chance would give."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from dhyan.evaluation.metric_counts import Counts
from dhyan.evaluation.scores import Score, scores_of
from dhyan.evaluation.significance import (
    RESAMPLES,
    SEED,
    Difference,
    Interval,
    check_resamples,
    check_sentences,
    interval,
    paired_bootstrap,
    randomisation,
)

TRIALS_A_RESAMPLE = 10  # a coin for each sentence is cheaper, and a rare event wants more of them


@dataclass(frozen=True)
class Resampling:
    """How often to draw, from which seed, and how two systems are compared; 0 draws nothing."""

    resamples: int = RESAMPLES
    seed: int = SEED
    test: Literal["bootstrap", "randomisation"] = "bootstrap"

    def __post_init__(self) -> None:
        if self.resamples:
            check_resamples(self.resamples)

    def check(self, sentences: int) -> None:
        """Refuse a test set that nothing can be drawn from."""
        if self.resamples:
            check_sentences(sentences)

    @property
    def trials(self) -> int:
        """How often approximate randomisation throws its coins."""
        return TRIALS_A_RESAMPLE * self.resamples

    def interval(self, counts: Counts) -> Interval:
        """How sure a score is."""
        return interval(counts, resamples=self.resamples, seed=self.seed)

    def difference(self, baseline: Counts, system: Counts) -> Difference:
        """How sure a difference is."""
        if self.test == "bootstrap":
            return paired_bootstrap(baseline, system, resamples=self.resamples, seed=self.seed)
        return randomisation(baseline, system, trials=self.trials, seed=self.seed)

    def marks(self, *, paired: bool) -> dict[str, object]:
        """What sacreBLEU's signatures say of it."""
        if not self.resamples:
            return {}
        shuffled = {"ar": self.trials} if paired and self.test == "randomisation" else {}
        return {"bs": self.resamples, **shuffled, "seed": self.seed}


@dataclass(frozen=True)
class Judgement:
    """Scores by metric; intervals and differences too, where anything was drawn."""

    scores: dict[str, Score]
    intervals: dict[str, Interval] = field(default_factory=dict)
    differences: dict[str, Difference] = field(default_factory=dict)


def judge(
    counts: Mapping[str, Counts],
    *,
    baseline: Mapping[str, Counts] | None = None,
    resampling: Resampling | None = None,
    hear: Callable[[str], None] = lambda line: None,
) -> Judgement:
    """Score a system, and compare it with a baseline on the same sentences if one is given.

    `hear` is told what has been drawn.
    """
    drawing = resampling or Resampling()
    scores = scores_of(counts, marks=drawing.marks(paired=baseline is not None))
    if not drawing.resamples:
        return Judgement(scores)
    intervals, differences = dict[str, Interval](), dict[str, Difference]()
    for key, one in counts.items():
        intervals[key] = drawing.interval(one)
        hear(f"{key}: {drawing.resamples:,} test sets drawn")
        if baseline:
            differences[key] = drawing.difference(baseline[key], one)
            hear(f"{key}: compared with the first")
    return Judgement(scores, intervals, differences)
