"""What `dhyan data check` says of a corpus, line by line."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, get_args

from dhyan.data.corpus_statistics import Lengths, Survey
from dhyan.data.leakage import KINDS, Leaks, Where
from dhyan.data.pairs import Noted

FEWEST_FOR_UNKNOWN = 10


def described(found: Survey) -> Iterator[str]:
    """Faults and drops, lengths, and what is repeated, unequal or odd."""
    yield from found.tally.lines()
    if found.scripts.crossed:
        yield "source and target seem to have changed places: each is in the other's script"
    yield f"\n{'words':<8} {'fewest':>7} {'median':>7} {'mean':>7} {'95 %':>7} {'most':>7}"
    yield _row("source", found.source)
    yield _row("target", found.target)
    yield ""
    counts = {
        "duplicate pairs": found.duplicates,
        "copies (target = source)": found.copies,
        "unequal (over 3 times as long)": found.unequal,
        **{name: noted for name, noted in found.unseen.items() if noted.count},
    }
    scripts = {"source": found.scripts.source, "target": found.scripts.target}
    for side, noted in found.strange.items():
        if noted.count and (script := scripts[side]):
            counts[f"{side}s without {script.name}"] = noted
    for name, noted in counts.items():
        yield f"{name:<32} {noted.count:>7,}  {noted}".rstrip()
    yield f"{'sources with several targets':<32} {found.ambiguous:>7,}"
    if found.pairs >= FEWEST_FOR_UNKNOWN:
        rates = f"{found.unknown_source:.1%} source, {found.unknown_target:.1%} target"
        yield f"unknown words: {rates} (of every tenth pair's, not in the others)"


def told(leaks: Leaks) -> Iterator[str]:
    """How much of a test stands in the corpus, by its sources, its targets, and as pairs."""
    yield f"\n{'test in the corpus':<18} {'exact':>7} {'folded':>7} {'near':>7}"
    for where in get_args(Where):
        counts = " ".join(f"{leaks.count(where, kind):>7,}" for kind in KINDS)
        yield f"{where + 's':<18} {counts}  {leaks.noted(where)}".rstrip()
    if leaks.all:
        yield f"{leaks}{'' if leaks.telling else ': short ones, as chance has it'}"


def facts(found: Survey, leaks: Leaks | None) -> str:
    """The same as JSON."""
    tally = found.tally
    whole: dict[str, Any] = {
        "pairs": found.pairs,
        "fingerprint": tally.fingerprint,
        "faults": {"count": tally.faulty, "first": tally.faults},
        "notes": tally.notes,
        "dropped": _counts(tally.drops),
        "words": {"source": asdict(found.source), "target": asdict(found.target)},
        "unknown": {"source": found.unknown_source, "target": found.unknown_target},
        "duplicates": asdict(found.duplicates),
        "copies": asdict(found.copies),
        "unequal": asdict(found.unequal),
        "ambiguous": found.ambiguous,
        "unseen": _counts(found.unseen),
        "other_script": _counts(found.strange),
        "swapped": found.scripts.crossed,
    }
    if leaks is not None:
        whole["leaks"] = {
            where: {kind: leaks.count(where, kind) for kind in KINDS} for where in get_args(Where)
        }
        whole["refused_for_leaks"] = leaks.telling
    return json.dumps(whole, ensure_ascii=False, indent=2)


def _counts(noted: Mapping[Any, Noted]) -> dict[str, Any]:
    return {str(name): asdict(one) for name, one in noted.items()}


def _row(name: str, lengths: Lengths) -> str:
    return (
        f"{name:<8} {lengths.shortest:>7} {lengths.median:>7.0f} {lengths.mean:>7.1f} "
        f"{lengths.percentile_95:>7.0f} {lengths.longest:>7}"
    )
