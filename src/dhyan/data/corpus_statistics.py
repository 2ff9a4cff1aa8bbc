"""What a corpus is like, and what is wrong with it."""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from jaxtyping import Bool, Integer, UInt64

from dhyan.data.invisible_characters import UNSEEN, unseen
from dhyan.data.length_filters import words
from dhyan.data.pairs import Noted, Pair, Side, Tally
from dhyan.data.writing_systems import Scripts
from dhyan.errors import UserError
from dhyan.text.normalize import normalize


@dataclass(frozen=True)
class Lengths:
    """How long the sentences are, in words."""

    shortest: int
    median: float
    mean: float
    percentile_95: float
    longest: int


@dataclass(frozen=True)
class Survey:
    """A corpus at a glance; `tally` holds its faults and its drops.

    `unknown_…` is the share of the words in every tenth pair that no other pair has: what a model
    trained on the rest would not have seen.
    """

    pairs: int
    tally: Tally
    source: Lengths
    target: Lengths
    unknown_source: float
    unknown_target: float
    unequal: Noted  # one side has over 3 times the words of the other, and at least 10 more
    copies: Noted  # the target is the source
    duplicates: Noted  # pairs that came before
    ambiguous: int  # different sources with more than one target
    unseen: dict[str, Noted]  # by the kind of sign, lines that hold some
    strange: dict[Side, Noted]  # lines without a letter of their language's script
    scripts: Scripts


def survey(pairs: Iterable[Pair], tally: Tally, *, languages: tuple[str, str] = ("", "")) -> Survey:
    """Go through a corpus once; read it with the same tally, a tolerant one to see every fault.

    The languages tell which scripts to expect, where they are known. Of a pair three numbers are
    kept, beside the words no pair before it had.
    """
    source, target = _Words(), _Words()
    unequal, copies = Noted(), Noted()
    odd = _Odd(tally, Scripts.of(languages))
    lines, sources, both = array("q"), array("Q"), array("Q")
    try:
        for pair in pairs:
            odd.look(pair)
            one, other = normalize(pair.source), normalize(pair.target)
            held_out = len(lines) % 10 == 9
            fewer, more = sorted((source.add(one, held_out), target.add(other, held_out)))
            if more > 3 * fewer and more >= fewer + 10:
                unequal.add(tally.place("source", pair.line))
            if one == other:
                copies.add(tally.place("source", pair.line))
            lines.append(pair.line)
            sources.append(_digest(one))
            both.append(_digest(f"{one}\0{other}"))
    except UserError as fault:
        tally.report(fault)
    repeated, ambiguous = _repeats(*(np.asarray(one, np.uint64) for one in (sources, both)))
    duplicates = Noted()
    for place in np.flatnonzero(repeated):
        duplicates.add(tally.place("source", lines[place]))
    return Survey(
        len(lines),
        tally,
        source.lengths(),
        target.lengths(),
        source.unknown(),
        target.unknown(),
        unequal,
        copies,
        duplicates,
        ambiguous,
        odd.unseen,
        odd.strange,
        odd.scripts,
    )


class _Odd:
    """What is odd about single lines: signs that no one sees, and letters of another script."""

    def __init__(self, tally: Tally, scripts: Scripts) -> None:
        self.unseen = {name: Noted() for name in UNSEEN}
        self.strange: dict[Side, Noted] = {"source": Noted(), "target": Noted()}
        self.scripts, self._tally = scripts, tally

    def look(self, pair: Pair) -> None:
        sides: dict[Side, str] = {"source": pair.source, "target": pair.target}
        for side, text in sides.items():
            for name in unseen(text):
                self.unseen[name].add(self._tally.place(side, pair.line))
        for side in self.scripts.strange(pair):
            self.strange[side].add(self._tally.place(side, pair.line))


class _Words:
    """One side's words: how many a sentence has, and which are known."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._known: set[str] = set()
        self._held_out: Counter[str] = Counter()

    def add(self, text: str, held_out: bool) -> int:
        found = words(text)
        self._counts[len(found)] += 1
        (self._held_out if held_out else self._known).update(found)
        return len(found)

    def lengths(self) -> Lengths:
        counts = sorted((self._counts or Counter([0])).items())
        sizes, often = (np.array(one) for one in zip(*counts, strict=True))
        mean = float(sizes @ often / often.sum())
        return Lengths(
            int(sizes[0]), _between(sizes, often, 50), mean, _between(sizes, often, 95),
            int(sizes[-1]),
        )  # fmt: skip

    def unknown(self) -> float:
        unseen = sum(n for word, n in self._held_out.items() if word not in self._known)
        return unseen / max(1, self._held_out.total())


def _between(
    sizes: Integer[np.ndarray, " N"], often: Integer[np.ndarray, " N"], percent: int
) -> float:
    """A percentile of sizes that come so often each, between two of them if it falls there."""
    whole, rest = divmod((int(often.sum()) - 1) * percent, 100)
    ends = often.cumsum()
    low, high = (
        int(sizes[ends.searchsorted(at, side="right")]) for at in (whole, whole + bool(rest))
    )
    return low + (high - low) * rest / 100


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _repeats(
    sources: UInt64[np.ndarray, " N"], both: UInt64[np.ndarray, " N"]
) -> tuple[Bool[np.ndarray, " N"], int]:
    """Which pairs came before, and how many sources have several targets."""
    order = both.argsort(kind="stable")
    ordered = both[order]
    repeated = np.zeros(len(both), dtype=bool)
    repeated[order[1:][ordered[1:] == ordered[:-1]]] = True
    del order, ordered
    distinct = np.sort(sources[~repeated])
    same = distinct[1:] == distinct[:-1]
    several = same & ~np.concatenate(([False], same[:-1])) if len(same) else same
    return repeated, int(several.sum())
