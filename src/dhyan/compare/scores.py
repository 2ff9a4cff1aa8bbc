"""Where the models of a comparison stand: every score of the report, keyed plainly."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from dhyan.compare.test_sets import Question, Sheet, Sheets
from dhyan.evaluation.metrics import Counts
from dhyan.evaluation.significance import Resampling
from dhyan.evaluation.slices import LENGTHS, slice_rows
from dhyan.run.evaluate import Result, System, compare

METRICS = ("bleu", "chrf")
SHORT, LONG = 10, 30  # words: what is kept of BLEU beyond the one, of what it is up to the other
Results = Mapping[str, Mapping[str, Any]]


def standings(
    tests: Sheets, results: Results, *, resampling: Resampling, on_progress: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """By model and test its scores; those of the main test by length, and against the best."""
    found: dict[str, dict[str, Any]] = {name: {} for name in results}
    for sheet in tests.sheets:
        main = sheet is tests.main
        for one in _judged(sheet, results, resampling if main else Resampling(0), on_progress):
            answers = results[one.system.name]["answers"][sheet.name]
            scores = {**_scores(one), "cut_off": answers["cut_off"], "empty": answers["empty"]}
            if told := understood(sheet.questions, one.system.said):
                scores["understood"] = told
            if main:
                lengths = [len(question.source.split()) for question in sheet.questions]
                scores["by_length"] = by_length(one.counts, lengths, resampling)
                scores["retained"] = retained(one.counts["bleu"], lengths)
            found[one.system.name][sheet.name] = scores
    return found


def by_length(
    counts: Mapping[str, Counts], lengths: Sequence[int], resampling: Resampling
) -> list[dict[str, Any]]:
    """The scores of each group of lengths, BLEU with its interval where one can be drawn."""
    found = []
    for part in slice_rows(lengths, LENGTHS):
        own = {key: one.of(part.rows) for key, one in counts.items()}
        scores: dict[str, Any] = {key: one.value() for key, one in own.items()}
        if resampling.resamples and len(part.rows) > 1:
            drawn = resampling.interval(own["bleu"])
            scores |= {"bleu_low": drawn.low, "bleu_high": drawn.high}
        found.append(
            {"least": part.least, "most": part.most, "sentences": len(part.rows), **scores}
        )
    return found


def retained(bleu: Counts, lengths: Sequence[int]) -> dict[str, Any] | None:
    """BLEU of the long sentences as a share of that of the short.

    Where none is longer than thirty words, the last group of lengths is the long one.
    """
    last = slice_rows(lengths, LENGTHS)[-1]
    over = LONG if max(lengths) > LONG else last.least - 1
    short = [row for row, length in enumerate(lengths) if length <= min(SHORT, over)]
    long = [row for row, length in enumerate(lengths) if length > over]
    if not short or not long or not (before := bleu.value(short)):
        return None
    after = bleu.value(long)
    return {
        "up_to": min(SHORT, over),
        "over": over,
        "bleu_short": before,
        "bleu_long": after,
        "share": after / before,
    }


def understood(questions: Sequence[Question], said: Sequence[str]) -> dict[str, Any] | None:
    """How often a translation says what shows that it understood, also by what it is about."""
    asked, right = Counter[str](), Counter[str]()
    total = met = 0
    for one, text in zip(questions, said, strict=True):
        if not one.wanted:
            continue
        verdicts = [(f"{want.kind}: {want.about}", want.met(text)) for want in one.wanted]
        total, met = total + 1, met + all(fine for _, fine in verdicts)
        for about, fine in verdicts:
            asked[about] += 1
            right[about] += fine
    if not total:
        return None
    by = {about: {"right": right[about], "asked": asked[about]} for about in sorted(asked)}
    return {"right": met, "asked": total, "share": met / total, "by": by}


def best_of(found: Mapping[str, Mapping[str, Any]], test: str) -> str:
    """The model with the highest BLEU in a test."""
    return max(found, key=lambda name: found[name][test]["bleu"]["value"])


def _judged(
    sheet: Sheet, results: Results, resampling: Resampling, on_progress: Callable[[str], None]
) -> list[Result]:
    systems = [
        System(name, one["answers"][sheet.name]["said"], beam=one["beam"])
        for name, one in results.items()
    ]
    language = next(iter(results.values()))["language"]
    return compare(
        systems,
        sheet.exam(),
        language=language,
        metrics=METRICS,
        resampling=resampling,
        against="best",
        on_progress=on_progress,
    )


def _scores(one: Result) -> dict[str, Any]:
    verdict = one.judgement
    found: dict[str, Any] = {}
    for key, score in verdict.scores.items():
        found[key] = {"value": score.value, "signature": score.signature}
        if key in verdict.intervals:
            found[key]["interval"] = asdict(verdict.intervals[key])
        if key in verdict.differences:
            found[key]["against_best"] = asdict(verdict.differences[key])
    return found
