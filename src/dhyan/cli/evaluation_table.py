"""How an evaluation is written: a table for people, JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dhyan.evaluation.significance import Resampling, SystemScores
    from dhyan.evaluation.slices import Slice
    from dhyan.run.evaluate import Result, System

TESTS = {
    "bootstrap": "paired bootstrap resampling (Koehn, 2004), {resamples:,} resamples",
    "randomisation": "approximate randomisation (Riezler and Maxwell, 2005), {trials:,} trials",
}


def as_json_text(results: "Sequence[Result]", resampling: "Resampling") -> str:
    """One system's facts side by side with the number of sentences, or a list of all."""
    facts: dict[str, Any] = {"sentences": len(results[0].system.said)}
    if len(results) == 1:
        facts |= _facts(results[0])
    else:
        drawn = {"name": resampling.test, "resamples": resampling.resamples}
        trials = {"trials": resampling.trials} if resampling.test == "randomisation" else {}
        facts["test"] = {**drawn, **trials, "seed": resampling.seed}
        facts["systems"] = [_facts(result) for result in results]
    return json.dumps(facts, ensure_ascii=False)


def as_table(results: "Sequence[Result]", resampling: "Resampling") -> str:
    """Everything measured, readable without colour."""
    lines = _one(results[0].judgement) if len(results) == 1 else _several(results, resampling)
    lines += _slices("source words", [result.by_length for result in results])
    if results[0].by_rarity:
        lines += _slices("rarest seen", [result.by_rarity for result in results])
    names = [f"[{place}] " for place in range(1, len(results) + 1)] if results[1:] else [""]
    for name, result in zip(names, results, strict=True):
        said = [f"{name}{line}" for line in _looks(result.system)]
        lines += ["", *said] if said else []
    return "\n".join(lines)


def _facts(result: "Result") -> dict[str, Any]:
    system, verdict = result.system, result.judgement
    scores = {key: asdict(score) for key, score in verdict.scores.items()}
    for key, interval in verdict.intervals.items():
        scores[key]["interval"] = asdict(interval)
    for key, difference in verdict.differences.items():
        scores[key]["against_first"] = asdict(difference)
    facts: dict[str, Any] = {"system": system.name, "beam": system.beam}
    facts |= {"cut_off": system.cut_off, "empty": system.empty, "scores": scores}
    facts["by_length"] = [asdict(part) for part in result.by_length]
    if result.by_rarity:
        facts["by_rarity"] = [asdict(part) for part in result.by_rarity]
    for key, found in (("alignment", system.alignment), ("attention", system.attention)):
        if found:
            facts[key] = asdict(found)
    return facts


def _one(verdict: "SystemScores") -> list[str]:
    width = max(len(_value(verdict, key)) for key in verdict.scores)
    return [
        f"{score.name:<7} {_value(verdict, key):<{width}}   {score.signature}"
        f"{'   (lower is better)' if score.lower_is_better else ''}"
        for key, score in verdict.scores.items()
    ]


def _several(results: "Sequence[Result]", resampling: "Resampling") -> list[str]:
    names = [f"[{place}] {result.system.name}" for place, result in enumerate(results, 1)]
    wide, scores = max(map(len, names)), results[-1].judgement.scores
    titles = [f"{one.name}{' (lower is better)' * one.lower_is_better}" for one in scores.values()]
    lines = [" " * wide + "".join(f"   {title:<24}" for title in titles).rstrip()]
    for name, result in zip(names, results, strict=True):
        cells = [_cell(result.judgement, key) for key in scores]
        lines.append(f"{name:<{wide}}" + "".join(f"   {cell:<24}" for cell in cells).rstrip())
    lines += ["", *(f"{score.name:<7} {score.signature}" for score in scores.values())]
    if resampling.resamples:
        how = TESTS[resampling.test].format(
            resamples=resampling.resamples, trials=resampling.trials
        )
        lines.append(f"p: how often chance alone makes such a difference from [1]; {how}")
    return lines


def _cell(verdict: "SystemScores", key: str) -> str:
    beside = verdict.differences.get(key)
    return _value(verdict, key) + (f"  p {beside.p:.4f}" if beside else "")


def _value(verdict: "SystemScores", key: str) -> str:
    margin = verdict.intervals.get(key)
    return f"{verdict.scores[key].value:6.2f}" + (f" ± {margin.margin:.2f}" if margin else "")


def _slices(title: str, systems: "Sequence[Sequence[Slice]]") -> list[str]:
    """A row for each part: all scores of one system, or the first score of each of several."""
    heads = [score.name for score in systems[0][0].scores.values()]
    if len(systems) > 1:
        heads = [f"{heads[0]} [{place}]" for place in range(1, len(systems) + 1)]
    lines = ["", f"{title:>12} {'sentences':>10}" + "".join(f" {head:>10}" for head in heads)]
    for parts in zip(*systems, strict=True):
        scores = [list(part.scores.values()) for part in parts]
        shown = scores[0] if len(parts) == 1 else [one[0] for one in scores]
        row = f"{_range(parts[0]):>12} {parts[0].sentences:>10,}"
        lines.append(row + "".join(f" {score.value:>10.2f}" for score in shown))
    return lines


def _range(part: "Slice") -> str:
    if part.most is None:
        return f"{part.least}+"
    return f"{part.least}–{part.most}" if part.most > part.least else f"{part.least}"


def _looks(system: "System") -> list[str]:
    """What is said of a system beside its scores."""
    lines = []
    if found := system.alignment:
        rates = f"precision {found.precision:.3f}, recall {found.recall:.3f}"
        lines.append(f"alignment error rate {found.error_rate:.3f}, {rates}")
    if looked := system.attention:
        share = f"{looked.entropy_bits:.2f} bits ({looked.relative_entropy:.0%} of the most)"
        lines.append(f"attention entropy {share}, coverage {looked.coverage:.3f}")
    if system.cut_off:
        lines.append(f"{system.cut_off:,} translations were cut off at the length limit")
    if system.empty:
        lines.append(f"{system.empty:,} translations are empty")
    return lines
