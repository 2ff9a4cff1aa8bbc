"""Statistics of a corpus: lengths, duplicates, unknown words, and suspicious lines."""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from jaxtyping import Bool, Integer, UInt64

from dhyan.data.filters import INVISIBLE_CHARACTERS, has_entity, invisible_classes, split_words
from dhyan.data.pairs import Pair, Side
from dhyan.data.read_report import Occurrences, ReadReport
from dhyan.data.script_check import ScriptCheck
from dhyan.errors import UserError
from dhyan.text.normalize import normalize

HELD_OUT_EVERY = 10  # every tenth pair is held out to estimate the rate of unknown words
MAX_RATIO, MIN_DIFFERENCE = 3, 10  # in words; beyond both, a pair is of unequal length


@dataclass(frozen=True)
class LengthStatistics:
    """Sentence lengths in words."""

    shortest: int
    median: float
    mean: float
    percentile_95: float
    longest: int


@dataclass(frozen=True)
class CorpusStatistics:
    """Statistics of a corpus; `report` holds its errors and dropped pairs.

    `unknown_…` is the share of the words in every tenth pair that no other pair has: an estimate
    of the out-of-vocabulary rate of a model trained on the rest.
    """

    pairs: int
    report: ReadReport
    source: LengthStatistics
    target: LengthStatistics
    unknown_source: float
    unknown_target: float
    unequal: Occurrences  # one side has over 3 times the words of the other, and at least 10 more
    copies: Occurrences  # target equals source
    duplicates: Occurrences  # of an earlier pair
    ambiguous: int  # sources with more than one target
    invisible: dict[str, Occurrences]  # lines with invisible characters, by class
    entities: Occurrences  # sentences with HTML entities
    wrong_script: dict[Side, Occurrences]  # lines without a letter of their language's script
    scripts: ScriptCheck


def corpus_statistics(
    pairs: Iterable[Pair], report: ReadReport, *, languages: tuple[str, str] = ("", "")
) -> CorpusStatistics:
    """The statistics of a corpus, in one pass; read it with the same report, tolerant of errors.

    The languages tell which scripts to expect, where they are known. Memory grows by three
    integers a pair, and by the vocabulary.
    """
    source, target = _SideStatistics(), _SideStatistics()
    unequal, copies = Occurrences(), Occurrences()
    suspicious = _SuspiciousLines(report, ScriptCheck.of(languages))
    lines, source_hashes, pair_hashes = array("q"), array("Q"), array("Q")
    try:
        for pair in pairs:
            suspicious.check(pair)
            source_text, target_text = normalize(pair.source), normalize(pair.target)
            held_out = len(lines) % HELD_OUT_EVERY == HELD_OUT_EVERY - 1
            fewer, more = sorted(
                (source.add(source_text, held_out), target.add(target_text, held_out))
            )
            if more > MAX_RATIO * fewer and more >= fewer + MIN_DIFFERENCE:
                unequal.add(report.location("source", pair.line))
            if source_text == target_text:
                copies.add(report.location("source", pair.line))
            lines.append(pair.line)
            source_hashes.append(_hash(source_text))
            pair_hashes.append(_hash(f"{source_text}\0{target_text}"))
    except UserError as error:
        report.add_error(error)
    repeated, ambiguous = _find_repeats(
        np.array(source_hashes, np.uint64), np.array(pair_hashes, np.uint64)
    )
    duplicates = Occurrences()
    for index in np.flatnonzero(repeated):
        duplicates.add(report.location("source", lines[index]))
    return CorpusStatistics(
        len(lines),
        report,
        source.lengths(),
        target.lengths(),
        source.unknown_rate(),
        target.unknown_rate(),
        unequal,
        copies,
        duplicates,
        ambiguous,
        suspicious.invisible,
        suspicious.entities,
        suspicious.wrong_script,
        suspicious.scripts,
    )


class _SuspiciousLines:
    """Lines with invisible characters, with HTML entities, or in the wrong script."""

    def __init__(self, report: ReadReport, scripts: ScriptCheck) -> None:
        self.invisible = {name: Occurrences() for name in INVISIBLE_CHARACTERS}
        self.wrong_script: dict[Side, Occurrences] = {
            "source": Occurrences(),
            "target": Occurrences(),
        }
        self.entities = Occurrences()
        self.scripts, self._report = scripts, report

    def check(self, pair: Pair) -> None:
        sides: dict[Side, str] = {"source": pair.source, "target": pair.target}
        for side, text in sides.items():
            for name in invisible_classes(text):
                self.invisible[name].add(self._report.location(side, pair.line))
            if has_entity(text):
                self.entities.add(self._report.location(side, pair.line))
        for side in self.scripts.wrong_sides(pair):
            self.wrong_script[side].add(self._report.location(side, pair.line))


class _SideStatistics:
    """Word counts of one side: the sentence lengths, and the words of held-out and other pairs."""

    def __init__(self) -> None:
        self._lengths: Counter[int] = Counter()
        self._vocabulary: set[str] = set()
        self._held_out: Counter[str] = Counter()

    def add(self, text: str, held_out: bool) -> int:
        words = split_words(text)
        self._lengths[len(words)] += 1
        (self._held_out if held_out else self._vocabulary).update(words)
        return len(words)

    def lengths(self) -> LengthStatistics:
        histogram = sorted((self._lengths or Counter([0])).items())
        lengths, counts = (np.array(column) for column in zip(*histogram, strict=True))
        return LengthStatistics(
            shortest=int(lengths[0]),
            median=_percentile(lengths, counts, 50),
            mean=float(lengths @ counts / counts.sum()),
            percentile_95=_percentile(lengths, counts, 95),
            longest=int(lengths[-1]),
        )

    def unknown_rate(self) -> float:
        unknown = sum(n for word, n in self._held_out.items() if word not in self._vocabulary)
        return unknown / max(1, self._held_out.total())


def _percentile(
    values: Integer[np.ndarray, " N"], counts: Integer[np.ndarray, " N"], percent: int
) -> float:
    """A percentile of values that occur `counts` times each, with linear interpolation."""
    rank, remainder = divmod((int(counts.sum()) - 1) * percent, 100)
    ends = counts.cumsum()
    low, high = (
        int(values[ends.searchsorted(index, side="right")])
        for index in (rank, rank + bool(remainder))
    )
    return low + (high - low) * remainder / 100


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _find_repeats(
    sources: UInt64[np.ndarray, " N"], pairs: UInt64[np.ndarray, " N"]
) -> tuple[Bool[np.ndarray, " N"], int]:
    """Which pairs are duplicates of earlier ones, and how many sources have several targets."""
    order = pairs.argsort(kind="stable")
    ordered = pairs[order]
    repeated = np.zeros(len(pairs), dtype=bool)
    repeated[order[1:][ordered[1:] == ordered[:-1]]] = True
    del order, ordered
    sources_of_distinct = np.sort(sources[~repeated])
    same = sources_of_distinct[1:] == sources_of_distinct[:-1]
    several = same & ~np.concatenate(([False], same[:-1])) if len(same) else same
    return repeated, int(several.sum())
