"""Parallel text, with every fault named by file and line."""

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from dhyan.data.lines import LONGEST_READ, TABLES, NotText, decoded, fault, kind_of, raw_lines, said
from dhyan.faults import Fault

LONGEST_LINE = 10_000  # characters a side may have
FIRST_PLACES, FIRST_FAULTS = 3, 50  # how many a tally remembers

Side = Literal["source", "target"]
Sides = tuple[int, str, str]  # a line number, a source and a target


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation, and the line of the file they begin on."""

    source: str
    target: str
    line: int


@dataclass
class Noted:
    """How often a thing was seen, and where first."""

    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Count one more, and remember its place if it is among the first."""
        self.count += 1
        if len(self.places) < FIRST_PLACES:
            self.places.append(place)

    def __str__(self) -> str:
        return ", ".join([*self.places, *["…"][: self.count - len(self.places)]])


@dataclass
class Tally:
    """What became of every pair; a tolerant one notes the faults of single lines and reads on."""

    tolerant: bool = False
    kept: int = 0
    drops: dict[str, Noted] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    faulty: int = 0
    notes: list[str] = field(default_factory=list)
    names: dict[Side, str] = field(default_factory=lambda: {"source": "source", "target": "target"})
    _hash: Any = field(default_factory=sha256, repr=False)

    @property
    def fingerprint(self) -> str:
        """The sha256 of the pairs read so far: the same text gives the same in any kind of file."""
        return self._hash.hexdigest()

    def keep(self, pair: Pair) -> None:
        """Count a pair that goes on."""
        self.kept += 1
        self._hash.update(f"{pair.source}\0{pair.target}\n".encode())

    def drop(self, reason: str, side: Side, line: int) -> None:
        """Count a pair left behind, by its reason."""
        self.drops.setdefault(reason, Noted()).add(self.place(side, line))

    def report(self, fault: Fault) -> None:
        """Raise a fault, or note it if the tally is tolerant."""
        if not self.tolerant:
            raise fault
        self.faulty += 1
        if len(self.faults) < FIRST_FAULTS:
            self.faults.append(str(fault))

    def place(self, side: Side, line: int) -> str:
        """Where a line stands, as `file:line`."""
        return f"{self.names[side]}:{line}"

    def lines(self) -> list[str]:
        """The tally in words: faults, what was kept, and a line for each reason to drop."""
        more = self.faulty - len(self.faults)
        return [
            *self.notes,
            *self.faults,
            *([f"{more:,} more faults like these"] if more else []),
            f"kept {_pairs(self.kept)}",
            *(f"dropped {_pairs(n.count)}: {reason} ({n})" for reason, n in self.drops.items()),
        ]


def read_pairs(
    source: Path,
    target: Path | None = None,
    *,
    columns: tuple[str, str] | None = None,
    tally: Tally | None = None,
) -> Iterator[Pair]:
    """The usable pairs of two text files, or of one .tsv or .csv file; each may be .gz or .xz.

    `columns` names two columns of a header. Pairs with an empty or over-long side are dropped into
    the tally; whatever would shift or spoil the others is a Fault.
    """
    tally = Tally() if tally is None else tally
    tally.names = {"source": said(source), "target": said(target or source)}
    usable = False
    for line, one, other in _sides(source, target, columns, tally):
        if unfit := _unfit(one, other):
            tally.drop(*unfit, line)
            continue
        usable = True
        pair = Pair(one, other, line)
        tally.keep(pair)
        yield pair
    if not usable:
        counts = ", ".join(f"{n.count:,} × {reason}" for reason, n in tally.drops.items())
        raise fault(source, 0, f"no usable pair ({counts or 'no line'}); see that it is a corpus")


def _pairs(count: int) -> str:
    return f"{count:,} pair{'' if count == 1 else 's'}"


def _unfit(one: str, other: str) -> tuple[str, Side] | None:
    """Why a pair cannot be used, and because of which side."""
    sides: dict[Side, str] = {"source": one, "target": other}
    for side, text in sides.items():
        if not text or text.isspace():
            return f"empty {side}", side
        if len(text) > LONGEST_LINE:
            return f"{side} of more than {LONGEST_LINE:,} characters", side
    return None


def _sides(
    source: Path, target: Path | None, columns: tuple[str, str] | None, tally: Tally
) -> Iterator[Sides]:
    if target is None:
        if kind_of(source) not in TABLES:
            raise fault(source, 0, "has one side; give the target file too, or one .tsv or .csv")
        return _table(source, columns, tally)
    if columns or TABLES & {kind_of(source), kind_of(target)}:
        raise fault(
            target, 0, "is a second file; give one .tsv or .csv, or two text files and no columns"
        )
    return _two_files(source, target, tally)


def _two_files(source: Path, target: Path, tally: Tally) -> Iterator[Sides]:
    if os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target):
        raise fault(target, 0, "is the source file again; give the file of translations")
    ours, theirs = raw_lines(source), raw_lines(target)
    for number, (one, other) in enumerate(zip_longest(ours, theirs), 1):
        if one is None or other is None:
            shorter, longer = (source, target) if one is None else (target, source)
            total = number + sum(1 for _ in (theirs if one is None else ours))
            reason = f"the number of lines is {number - 1:,}, but {said(longer)} has {total:,}"
            remedy = "line N of one must translate line N of the other"
            tally.report(fault(shorter, number - 1, f"{reason}; {remedy}"))
            return
        text = _text(one, source, number, tally)
        translation = _text(other, target, number, tally)
        if text is not None and translation is not None:
            yield number, text, translation


def _table(path: Path, columns: tuple[str, str] | None, tally: Tally) -> Iterator[Sides]:
    comma = kind_of(path) == ".csv"
    rows = _csv_rows(path, tally) if comma else _tsv_rows(path, tally)
    width, places = None, (0, 1)
    if comma or columns:
        line, header = next(rows, (1, []))
        width, places = len(header), _find(path, line, columns, header)
        tally.notes.append(f"line {line} is the header: {said(', '.join(header)[:300])}")
    for line, fields in rows:
        if width is None and len(fields) > 2 and not tally.notes:
            tally.notes.append(f"of {len(fields)} columns the first two are taken")
        if fields in ([], [""]):
            tally.drop("blank line", "source", line)
        elif len(fields) == width or (width is None and len(fields) > 1):
            yield line, fields[places[0]], fields[places[1]]
        else:
            reason = f"the number of columns is {len(fields)}, not {width or 'at least 2'}"
            remedy = f"separate them by one {'comma, and quote commas in text' if comma else 'tab'}"
            tally.report(fault(path, line, f"{reason}; {remedy}"))


def _find(
    path: Path, line: int, columns: tuple[str, str] | None, header: list[str]
) -> tuple[int, int]:
    """Where the two columns stand in the header."""
    names = [name.strip() for name in header]
    there = f"of {said(', '.join(names)[:300])}"
    if columns is None and len(names) != 2:
        raise fault(path, line, f"{len(names)} columns; name two with --columns a,b {there}")
    wanted = columns or (names[0], names[1])
    for name in wanted:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {said(near[0])}, or another" if near else "name two"
            raise fault(path, line, f"no column is called {said(name)}; {hint} {there}")
    first, second = names.index(wanted[0]), names.index(wanted[1])
    if first == second:
        raise fault(path, line, f"both sides are {said(wanted[0])}; name two {there}")
    return first, second


def _tsv_rows(path: Path, tally: Tally) -> Iterator[tuple[int, list[str]]]:
    for number, text in _lines(path, tally):
        yield number, text.split("\t")


def _csv_rows(path: Path, tally: Tally) -> Iterator[tuple[int, list[str]]]:
    """Records with the line each begins on; a newline inside quotes becomes a space."""
    taken: list[int] = []

    def fed() -> Iterator[str]:
        for number, text in _lines(path, tally):
            taken.append(number)
            # The csv module ends a line at any \r, so \0, which no line may hold, stands in for it.
            yield text.replace("\r", "\0") + "\n"

    csv.field_size_limit(LONGEST_READ)
    reader = csv.reader(fed(), strict=True)
    while True:
        taken.clear()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            remedy = 'close every quote, and write a quote inside quotes as ""'
            tally.report(fault(path, taken[0], f"broken quoting ({error}); {remedy}"))
        else:
            yield taken[0], [text.replace("\n", " ").replace("\0", "\r") for text in fields]


def _lines(path: Path, tally: Tally) -> Iterator[tuple[int, str]]:
    """The lines of a table; one cut short has lost columns, and in .csv perhaps a closing quote."""
    for number, raw in enumerate(raw_lines(path), 1):
        if len(raw) < LONGEST_READ:
            text = _text(raw, path, number, tally)
            if text is not None:
                yield number, text
        elif kind_of(path) == ".csv":
            reason = f"the line has more than {LONGEST_READ:,} bytes; shorten or remove it"
            tally.report(fault(path, number, reason))
        else:
            tally.drop("over-long line", "source", number)


def _text(raw: bytes, path: Path, number: int, tally: Tally) -> str | None:
    """A line without its ending, or None where a fault has been noted."""
    try:
        return decoded(raw, path, number, cut=len(raw) >= LONGEST_READ)
    except NotText:
        raise
    except Fault as fault:
        tally.report(fault)
        return None
