"""The results of an evaluation as a table, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dhyan.evaluation.significance import Resampling, SystemScores
    from dhyan.evaluation.slices import Slice
    from dhyan.run.evaluate import SystemOutput, SystemResult

TESTS = {
    "bootstrap": "paired bootstrap resampling (Koehn, 2004), {resamples:,} resamples",
    "randomisation": "approximate randomisation (Riezler and Maxwell, 2005), {trials:,} trials",
}


def results_json(results: "Sequence[SystemResult]", resampling: "Resampling") -> str:
    """Scores of one system, or the test and a list of all systems."""
    facts: dict[str, Any] = {"sentences": len(results[0].system.texts)}
    if len(results) == 1:
        facts |= _facts(results[0])
    else:
        test = {"name": resampling.test, "resamples": resampling.resamples}
        trials = {"trials": resampling.trials} if resampling.test == "randomisation" else {}
        facts["test"] = {**test, **trials, "seed": resampling.seed}
        facts["systems"] = [_facts(result) for result in results]
    return json.dumps(facts, ensure_ascii=False)


def results_table(results: "Sequence[SystemResult]", resampling: "Resampling") -> str:
    """All scores, then slices, then attention statistics."""
    lines = _one_system(results[0].scores) if len(results) == 1 else _systems(results, resampling)
    lines += _slices("source words", [result.by_length for result in results])
    if results[0].by_rarity:
        lines += _slices("rarest seen", [result.by_rarity for result in results])
    names = [f"[{number}] " for number in range(1, len(results) + 1)] if results[1:] else [""]
    for name, result in zip(names, results, strict=True):
        remarks = [f"{name}{line}" for line in _remarks(result.system)]
        lines += ["", *remarks] if remarks else []
    return "\n".join(lines)


def _facts(result: "SystemResult") -> dict[str, Any]:
    system, system_scores = result.system, result.scores
    scores = {key: asdict(score) for key, score in system_scores.scores.items()}
    for key, interval in system_scores.intervals.items():
        scores[key]["interval"] = asdict(interval)
    for key, difference in system_scores.differences.items():
        scores[key]["against_first"] = asdict(difference)
    facts: dict[str, Any] = {"system": system.name, "beam": system.beam}
    facts |= {"cut_off": system.cut_off, "empty": system.empty, "scores": scores}
    facts["by_length"] = [asdict(part) for part in result.by_length]
    if result.by_rarity:
        facts["by_rarity"] = [asdict(part) for part in result.by_rarity]
    for key, statistics in (("alignment", system.alignment), ("attention", system.attention)):
        if statistics:
            facts[key] = asdict(statistics)
    return facts


def _one_system(system_scores: "SystemScores") -> list[str]:
    width = max(len(_value(system_scores, key)) for key in system_scores.scores)
    return [
        f"{score.name:<7} {_value(system_scores, key):<{width}}   {score.signature}"
        f"{'   (lower is better)' if score.lower_is_better else ''}"
        for key, score in system_scores.scores.items()
    ]


def _systems(results: "Sequence[SystemResult]", resampling: "Resampling") -> list[str]:
    names = [f"[{number}] {result.system.name}" for number, result in enumerate(results, 1)]
    wide, scores = max(map(len, names)), results[-1].scores.scores
    titles = [
        f"{score.name}{' (lower is better)' * score.lower_is_better}" for score in scores.values()
    ]
    lines = [" " * wide + "".join(f"   {title:<24}" for title in titles).rstrip()]
    for name, result in zip(names, results, strict=True):
        cells = [_cell(result.scores, key) for key in scores]
        lines.append(f"{name:<{wide}}" + "".join(f"   {cell:<24}" for cell in cells).rstrip())
    lines += ["", *(f"{score.name:<7} {score.signature}" for score in scores.values())]
    if resampling.resamples:
        how = TESTS[resampling.test].format(
            resamples=resampling.resamples, trials=resampling.trials
        )
        lines.append(f"p: probability of such a difference from [1] by chance; {how}")
    return lines


def _cell(system_scores: "SystemScores", key: str) -> str:
    difference = system_scores.differences.get(key)
    return _value(system_scores, key) + (f"  p {difference.p:.4f}" if difference else "")


def _value(system_scores: "SystemScores", key: str) -> str:
    margin = system_scores.intervals.get(key)
    return f"{system_scores.scores[key].value:6.2f}" + (f" ± {margin.margin:.2f}" if margin else "")


def _slices(title: str, systems: "Sequence[Sequence[Slice]]") -> list[str]:
    """A row for each part: all scores of one system, or the first score of each of several."""
    heads = [score.name for score in systems[0][0].scores.values()]
    if len(systems) > 1:
        heads = [f"{heads[0]} [{number}]" for number in range(1, len(systems) + 1)]
    lines = ["", f"{title:>12} {'sentences':>10}" + "".join(f" {head:>10}" for head in heads)]
    for parts in zip(*systems, strict=True):
        scores = [list(part.scores.values()) for part in parts]
        cells = scores[0] if len(parts) == 1 else [own[0] for own in scores]
        row = f"{_range(parts[0]):>12} {parts[0].sentences:>10,}"
        lines.append(row + "".join(f" {score.value:>10.2f}" for score in cells))
    return lines


def _range(part: "Slice") -> str:
    if part.most is None:
        return f"{part.least}+"
    return f"{part.least}–{part.most}" if part.most > part.least else f"{part.least}"


def _remarks(system: "SystemOutput") -> list[str]:
    """Alignment, attention, translations that were cut off or are empty."""
    lines = []
    if alignment := system.alignment:
        rates = f"precision {alignment.precision:.3f}, recall {alignment.recall:.3f}"
        lines.append(f"alignment error rate {alignment.error_rate:.3f}, {rates}")
    if attention := system.attention:
        share = f"{attention.entropy_bits:.2f} bits ({attention.relative_entropy:.0%} of the most)"
        lines.append(f"attention entropy {share}, coverage {attention.coverage:.3f}")
    if system.cut_off:
        lines.append(f"{system.cut_off:,} translations were cut off at the length limit")
    if system.empty:
        lines.append(f"{system.empty:,} translations are empty")
    return lines
