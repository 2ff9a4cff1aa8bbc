"""The files a recipe names, as streams of pairs that can be read again."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dhyan.config import Data
from dhyan.data.length_filters import Bounds
from dhyan.data.pairs import Pair, Tally
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_text import TABLES, kind_of
from dhyan.errors import UserError

logger = logging.getLogger(__name__)

EVERY = 500_000  # pairs between two words of progress


@dataclass(frozen=True)
class Reading:
    """One corpus in its files; each time it is gone through, they are read anew."""

    source: str
    target: str
    columns: tuple[str, ...] = ()
    bounds: Bounds = Bounds()
    weight: float = 1.0

    def read(self, tally: Tally) -> Iterator[Pair]:
        """The usable pairs."""
        named = self.columns and kind_of(Path(self.source)) in TABLES
        return read_pairs(
            Path(self.source),
            Path(self.target) if self.target else None,
            columns=(self.columns[0], self.columns[1]) if named else None,
            bounds=self.bounds,
            tally=tally,
        )


@dataclass(frozen=True)
class Again:
    """A corpus that is read anew each time, and must be the same each time."""

    reading: Reading
    fingerprint: str

    def __iter__(self) -> Iterator[Pair]:
        tally = Tally()
        yield from self.reading.read(tally)
        if tally.fingerprint != self.fingerprint:
            raise UserError(f"{self.reading.source}: changed while it was in use; begin again")


@dataclass(frozen=True)
class Without:
    """Pairs, but none whose source is known."""

    pairs: Iterable[Pair]
    known: frozenset[str]

    def __iter__(self) -> Iterator[Pair]:
        return (pair for pair in self.pairs if pair.source not in self.known)


@dataclass(frozen=True)
class Told:
    """Pairs that are spoken of every so often as they go by."""

    pairs: Iterable[Pair]
    tell: Callable[[int], None]

    def __iter__(self) -> Iterator[Pair]:
        for number, pair in enumerate(self.pairs, 1):
            yield pair
            if number % EVERY == 0:
                self.tell(number)


def training_files(data: Data) -> Reading:
    """The recipe's corpus."""
    return Reading(data.source, data.target, data.columns, _bounds(data))


def mixed_files(data: Data) -> list[Reading]:
    """The corpora that join it."""
    return [Reading(m.source, m.target, data.columns, _bounds(data), m.weight) for m in data.mix]


def validation_files(data: Data) -> Reading | None:
    """The recipe's own pairs to validate on, of any length."""
    named = data.valid_source
    return Reading(named, data.valid_target, data.columns) if named else None


def tested_files(data: Data) -> Reading | None:
    """The pairs a recipe says it will be tested on; they are looked for, and not used."""
    named = data.test_source
    return Reading(named, data.test_target, data.columns) if named else None


def check_first(data: Data) -> None:
    """Read the first pair of each corpus, so that a missing file is not found out at the end."""
    named = validation_files(data), tested_files(data)
    for reading in (training_files(data), *named, *mixed_files(data)):
        if reading and reading.source:
            next(reading.read(Tally()))


def read_once(reading: Reading, *, stream: bool) -> tuple[Iterable[Pair], int, str]:
    """The pairs, how many there are, and their fingerprint; a stream keeps none in memory."""
    tally = Tally()
    pairs = Told(reading.read(tally), lambda n: logger.info(f"{reading.source}: read {n:,} pairs"))
    kept: Iterable[Pair] = []
    if stream:
        for _ in pairs:
            pass
        kept = Again(reading, tally.fingerprint)
    else:
        kept = list(pairs)
    for line in tally.lines():
        logger.info(f"{reading.source}: {line}")
    return kept, tally.kept, tally.fingerprint


def _bounds(data: Data) -> Bounds:
    return Bounds(data.min_words, data.max_words, data.max_length_ratio)


def check_columns(data: Data) -> None:
    """Refuse names of columns where no file has any."""
    own = (data.source, data.valid_source, data.test_source)
    files = (*own, *(one.source for one in data.mix))
    if data.columns and not any(kind_of(Path(file)) in TABLES for file in files):
        named = ",".join(data.columns)
        reason = "none of the files is a .tsv, .csv or .jsonl"
        raise UserError(f"data.columns: {named} are columns of a table, and {reason}; leave it out")
