"""Scores of the models of a comparison: metrics, by length, significance, targeted accuracy."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from dhyan.compare.test_sets import EvaluationExample, EvaluationSet, EvaluationSets
from dhyan.evaluation.metric import find_metric
from dhyan.evaluation.metrics import Counts
from dhyan.evaluation.significance import Resampling
from dhyan.evaluation.slices import LENGTHS, slice_rows
from dhyan.run.evaluate import SystemOutput, SystemResult, score_systems

SHORT, LONG = (
    10,
    30,
)  # words: the retained score compares sentences over LONG with those up to SHORT
Results = Mapping[str, Mapping[str, Any]]


def score_models(
    tests: EvaluationSets,
    results: Results,
    *,
    metrics: Sequence[str],
    resampling: Resampling,
    on_progress: Callable[[str], None],
) -> dict[str, dict[str, Any]]:
    """Scores by model and test set; on the main one also by length and against the best model.

    The first of the `metrics` is foremost: it tells which is best, and what is kept with length.
    """
    by_model: dict[str, dict[str, Any]] = {name: {} for name in results}
    for test_set in tests.sets:
        main = test_set is tests.main
        for result in _compare(
            test_set, results, metrics, resampling if main else Resampling(0), on_progress
        ):
            output = results[result.system.name]["translations"][test_set.name]
            scores = {**_scores(result), "cut_off": output["cut_off"], "empty": output["empty"]}
            if targeted := targeted_accuracy(test_set.examples, result.system.texts):
                scores["targeted_accuracy"] = targeted
            if main:
                lengths = [len(example.source.split()) for example in test_set.examples]
                scores["by_length"] = by_length(result.counts, lengths, resampling)
                scores["retained"] = score_retained(result.counts[metrics[0]], lengths)
            by_model[result.system.name][test_set.name] = scores
    return by_model


def by_length(
    counts: Mapping[str, Counts], lengths: Sequence[int], resampling: Resampling
) -> list[dict[str, Any]]:
    """Scores of each length slice, with the confidence interval of the first where possible."""
    slices, first = [], next(iter(counts))
    for part in slice_rows(lengths, LENGTHS):
        slice_counts = {key: metric.of(part.rows) for key, metric in counts.items()}
        scores: dict[str, Any] = {key: metric.value() for key, metric in slice_counts.items()}
        if resampling.resamples and len(part.rows) > 1:
            interval = resampling.interval(slice_counts[first])
            scores |= {f"{first}_low": interval.low, f"{first}_high": interval.high}
        slices.append(
            {"least": part.least, "most": part.most, "sentences": len(part.rows), **scores}
        )
    return slices


def score_retained(counts: Counts, lengths: Sequence[int]) -> dict[str, Any] | None:
    """The score of long sentences as a share of that of short ones.

    If none is longer than thirty words, the last length slice counts as long. Of an error rate no
    share is kept.
    """
    if counts.metric.lower_is_better:
        return None
    last = slice_rows(lengths, LENGTHS)[-1]
    over = LONG if max(lengths) > LONG else last.least - 1
    short = [row for row, length in enumerate(lengths) if length <= min(SHORT, over)]
    long = [row for row, length in enumerate(lengths) if length > over]
    if not short or not long or not (before := counts.value(short)):
        return None
    after = counts.value(long)
    return {
        "up_to": min(SHORT, over),
        "over": over,
        f"{counts.key}_short": before,
        f"{counts.key}_long": after,
        "share": after / before,
    }


def targeted_accuracy(
    examples: Sequence[EvaluationExample], hypotheses: Sequence[str]
) -> dict[str, Any] | None:
    """Share of translations with all required words and no wrong one, also by phenomenon."""
    tested, right = Counter[str](), Counter[str]()
    total = correct = 0
    for example, text in zip(examples, hypotheses, strict=True):
        if not example.checks:
            continue
        checks = [(f"{word.kind}: {word.about}", word.passes(text)) for word in example.checks]
        total, correct = total + 1, correct + all(passed for _, passed in checks)
        for about, passed in checks:
            tested[about] += 1
            right[about] += passed
    if not total:
        return None
    by = {about: {"right": right[about], "sentences": tested[about]} for about in sorted(tested)}
    return {"right": correct, "sentences": total, "share": correct / total, "by": by}


def best_model(scores: Mapping[str, Mapping[str, Any]], test: str, metric: str) -> str:
    """The model with the best score on a test set."""
    sign = -1 if find_metric(metric).lower_is_better else 1
    return max(scores, key=lambda name: sign * scores[name][test][metric]["value"])


def _compare(
    test_set: EvaluationSet,
    results: Results,
    metrics: Sequence[str],
    resampling: Resampling,
    on_progress: Callable[[str], None],
) -> list[SystemResult]:
    systems = [
        SystemOutput(name, result["translations"][test_set.name]["texts"], beam=result["beam"])
        for name, result in results.items()
    ]
    language = next(iter(results.values()))["language"]
    return score_systems(
        systems,
        test_set.reference_set(),
        language=language,
        metrics=metrics,
        resampling=resampling,
        against="best",
        on_progress=on_progress,
    )


def _scores(result: SystemResult) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for key, score in result.scores.scores.items():
        facts[key] = {"value": score.value, "signature": score.signature}
        if key in result.scores.intervals:
            facts[key]["interval"] = asdict(result.scores.intervals[key])
        if key in result.scores.differences:
            facts[key]["against_best"] = asdict(result.scores.differences[key])
    return facts
