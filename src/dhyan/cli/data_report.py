"""The report of `dhyan data check`, as text or JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, get_args

from dhyan.data.corpus_statistics import CorpusStatistics, LengthStatistics
from dhyan.data.leakage import MATCH_KINDS, LeakageReport, MatchSide
from dhyan.data.pairs import Occurrences

MIN_PAIRS_FOR_UNKNOWN_RATE = 10


def report_lines(statistics: CorpusStatistics) -> Iterator[str]:
    """Errors and dropped pairs, lengths, and suspicious pairs."""
    yield from statistics.report.lines()
    if statistics.scripts.swapped:
        yield "source and target seem to be swapped: each is in the script of the other"
    yield f"\n{'words':<8} {'fewest':>7} {'median':>7} {'mean':>7} {'95 %':>7} {'most':>7}"
    yield _length_row("source", statistics.source)
    yield _length_row("target", statistics.target)
    yield ""
    counts = {
        "duplicate pairs": statistics.duplicates,
        "copies (target = source)": statistics.copies,
        "unequal (over 3 times as long)": statistics.unequal,
        **{name: where for name, where in statistics.invisible.items() if where.count},
    }
    scripts = {"source": statistics.scripts.source, "target": statistics.scripts.target}
    for side, where in statistics.wrong_script.items():
        if where.count and (script := scripts[side]):
            counts[f"{side}s without {script.name}"] = where
    for name, where in counts.items():
        yield f"{name:<32} {where.count:>7,}  {where}".rstrip()
    yield f"{'sources with several targets':<32} {statistics.ambiguous:>7,}"
    if statistics.pairs >= MIN_PAIRS_FOR_UNKNOWN_RATE:
        rates = f"{statistics.unknown_source:.1%} source, {statistics.unknown_target:.1%} target"
        yield f"unknown words: {rates} (of every tenth pair, not in the others)"


def leakage_lines(report: LeakageReport) -> Iterator[str]:
    """How much of a test set occurs in the corpus, by source, by target and as pairs."""
    yield f"\n{'test in the corpus':<18} {'exact':>7} {'folded':>7} {'near':>7}"
    for side in get_args(MatchSide):
        counts = " ".join(f"{report.count(side, kind):>7,}" for kind in MATCH_KINDS)
        yield f"{side + 's':<18} {counts}  {report.occurrences(side)}".rstrip()
    if report.all:
        by_chance = ": short sentences, as expected by chance"
        yield f"{report}{'' if report.significant else by_chance}"


def report_json(statistics: CorpusStatistics, leakage: LeakageReport | None) -> str:
    """The same report as JSON."""
    report = statistics.report
    fields: dict[str, Any] = {
        "pairs": statistics.pairs,
        "fingerprint": report.fingerprint,
        "errors": {"count": report.error_count, "first": report.errors},
        "notes": report.notes,
        "dropped": _as_dicts(report.dropped),
        "words": {"source": asdict(statistics.source), "target": asdict(statistics.target)},
        "unknown": {"source": statistics.unknown_source, "target": statistics.unknown_target},
        "duplicates": asdict(statistics.duplicates),
        "copies": asdict(statistics.copies),
        "unequal": asdict(statistics.unequal),
        "ambiguous": statistics.ambiguous,
        "invisible_characters": _as_dicts(statistics.invisible),
        "wrong_script": _as_dicts(statistics.wrong_script),
        "swapped": statistics.scripts.swapped,
    }
    if leakage is not None:
        fields["leakage"] = {
            side: {kind: leakage.count(side, kind) for kind in MATCH_KINDS}
            for side in get_args(MatchSide)
        }
        fields["refused_for_leakage"] = leakage.significant
    return json.dumps(fields, ensure_ascii=False, indent=2)


def _as_dicts(occurrences: Mapping[Any, Occurrences]) -> dict[str, Any]:
    return {str(name): asdict(where) for name, where in occurrences.items()}


def _length_row(name: str, lengths: LengthStatistics) -> str:
    return (
        f"{name:<8} {lengths.shortest:>7} {lengths.median:>7.0f} {lengths.mean:>7.1f} "
        f"{lengths.percentile_95:>7.0f} {lengths.longest:>7}"
    )
