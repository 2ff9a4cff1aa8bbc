"""The report of `dhyan data check`, as text and as JSON."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, get_args

from dhyan.data.corpus_statistics import Lengths, Survey
from dhyan.data.leakage import KINDS, Leaks, Where
from dhyan.data.pairs import Noted

FEWEST_FOR_UNKNOWN = 10


def report_lines(statistics: Survey) -> Iterator[str]:
    """Errors, dropped pairs, lengths, duplicates, unequal lengths, odd characters."""
    yield from statistics.tally.lines()
    if statistics.scripts.crossed:
        yield "source and target seem to have changed places: each is in the other's script"
    yield f"\n{'words':<8} {'fewest':>7} {'median':>7} {'mean':>7} {'95 %':>7} {'most':>7}"
    yield _row("source", statistics.source)
    yield _row("target", statistics.target)
    yield ""
    counts = {
        "duplicate pairs": statistics.duplicates,
        "copies (target = source)": statistics.copies,
        "unequal (over 3 times as long)": statistics.unequal,
        **{name: noted for name, noted in statistics.unseen.items() if noted.count},
    }
    scripts = {"source": statistics.scripts.source, "target": statistics.scripts.target}
    for side, noted in statistics.strange.items():
        if noted.count and (script := scripts[side]):
            counts[f"{side}s without {script.name}"] = noted
    for name, noted in counts.items():
        yield f"{name:<32} {noted.count:>7,}  {noted}".rstrip()
    yield f"{'sources with several targets':<32} {statistics.ambiguous:>7,}"
    if statistics.pairs >= FEWEST_FOR_UNKNOWN:
        rates = f"{statistics.unknown_source:.1%} source, {statistics.unknown_target:.1%} target"
        yield f"unknown words: {rates} (of every tenth pair's, not in the others)"


def leakage_lines(leaks: Leaks) -> Iterator[str]:
    """How many sources, targets and pairs of a test set are in the corpus."""
    yield f"\n{'test in the corpus':<18} {'exact':>7} {'folded':>7} {'near':>7}"
    for where in get_args(Where):
        counts = " ".join(f"{leaks.count(where, match):>7,}" for match in KINDS)
        yield f"{where + 's':<18} {counts}  {leaks.noted(where)}".rstrip()
    if leaks.all:
        yield f"{leaks}{'' if leaks.telling else ': short ones, as chance has it'}"


def report_json(statistics: Survey, leaks: Leaks | None) -> str:
    """The report as JSON."""
    tally = statistics.tally
    report: dict[str, Any] = {
        "pairs": statistics.pairs,
        "fingerprint": tally.fingerprint,
        "faults": {"count": tally.faulty, "first": tally.faults},
        "notes": tally.notes,
        "dropped": _counts(tally.drops),
        "words": {"source": asdict(statistics.source), "target": asdict(statistics.target)},
        "unknown": {"source": statistics.unknown_source, "target": statistics.unknown_target},
        "duplicates": asdict(statistics.duplicates),
        "copies": asdict(statistics.copies),
        "unequal": asdict(statistics.unequal),
        "ambiguous": statistics.ambiguous,
        "unseen": _counts(statistics.unseen),
        "other_script": _counts(statistics.strange),
        "swapped": statistics.scripts.crossed,
    }
    if leaks is not None:
        report["leaks"] = {
            where: {match: leaks.count(where, match) for match in KINDS}
            for where in get_args(Where)
        }
        report["refused_for_leaks"] = leaks.telling
    return json.dumps(report, ensure_ascii=False, indent=2)


def _counts(noted: Mapping[Any, Noted]) -> dict[str, Any]:
    return {str(name): asdict(count) for name, count in noted.items()}


def _row(name: str, lengths: Lengths) -> str:
    return (
        f"{name:<8} {lengths.shortest:>7} {lengths.median:>7.0f} {lengths.mean:>7.1f} "
        f"{lengths.percentile_95:>7.0f} {lengths.longest:>7}"
    )
