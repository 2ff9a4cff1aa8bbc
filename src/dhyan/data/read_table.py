"""Tables of two columns and more, separated by tabs or commas."""

import csv
import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from dhyan.data.pairs import Noted, Tally
from dhyan.data.read_text import LONGEST_READ, NotText, decoded, fault, kind_of, raw_lines, said
from dhyan.errors import UserError

_NAMES = re.compile(  # of columns, as headers have them; they are only spoken of, never believed
    r"(source|target|src|tgt|trg|reference|translation|sentence|text|en|hi|bn|de|es|fr|mr|ne|sa|ta|ur"
    r"|english|hindi|bengali|german|spanish|french|marathi|nepali|sanskrit|tamil|urdu)"
    r"([ _-]?(text|sentences?|language|lang))?",
    re.IGNORECASE,
)

Sides = tuple[int, str, str]  # a line number, a source and a target


def read_table(path: Path, columns: tuple[str, str] | None, tally: Tally) -> Iterator[Sides]:
    """The two sides of each row of a .tsv or .csv."""
    comma = kind_of(path) == ".csv"
    rows = _csv_rows(path, tally) if comma else _tsv_rows(path, tally)
    width, places, others = None, (0, 1), Noted()
    if comma or columns:
        line, header = next(rows, (1, []))
        width, places = len(header), _find(path, line, columns, header)
        tally.notes.append(f"line {line} is the header: {said(', '.join(header)[:300])}")
    first = 0
    for line, fields in rows:
        if width is None and not first:
            first = len(fields)
            tally.notes.extend(_first_words(line, fields))
        if fields in ([], [""]):
            tally.drop("blank line", "source", line)
        elif len(fields) == width or (width is None and len(fields) > 1):
            if width is None and len(fields) != first:
                others.add(tally.place("source", line))
            yield line, fields[places[0]], fields[places[1]]
        else:
            reason = f"the number of columns is {len(fields)}, not {width or 'at least 2'}"
            remedy = f"separate them by one {'comma, and quote commas in text' if comma else 'tab'}"
            tally.report(fault(path, line, f"{reason}; {remedy}"))
    if others.count:
        rows_of = f"{others.count:,} row{'' if others.count == 1 else 's'}"
        tally.notes.append(f"{rows_of} of another number of columns than {first} ({others})")


def _first_words(line: int, fields: list[str]) -> Iterator[str]:
    """What is said of a table's first row where no header was asked for."""
    names = [field.strip() for field in fields[:2]]
    if all(_NAMES.fullmatch(name) for name in names) and len(set(names)) == 2:
        remedy = f"if it is one, name its columns with --columns {','.join(names)}"
        yield f"line {line} looks like a header and is taken as a pair: {remedy}"
    if len(fields) > 2:
        yield f"of {len(fields)} columns the first two are taken"


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
        if names.count(name) > 1:
            reason = f"{names.count(name)} columns are called {said(name)}"
            raise fault(path, line, f"{reason}; give each a name of its own in the header")
    first, second = names.index(wanted[0]), names.index(wanted[1])
    if first == second:
        raise fault(path, line, f"both sides are {said(wanted[0])}; name two {there}")
    return first, second


def _tsv_rows(path: Path, tally: Tally) -> Iterator[tuple[int, list[str]]]:
    for number, text in table_lines(path, tally):
        yield number, text.split("\t")


def _csv_rows(path: Path, tally: Tally) -> Iterator[tuple[int, list[str]]]:
    """Records with the line each begins on; a newline inside quotes becomes a space."""
    taken: list[int] = []

    def fed() -> Iterator[str]:
        for number, text in table_lines(path, tally):
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


def table_lines(path: Path, tally: Tally) -> Iterator[tuple[int, str]]:
    """The lines of a table; one cut short has lost columns, and in .csv perhaps a closing quote."""
    for number, raw in enumerate(raw_lines(path), 1):
        if len(raw) < LONGEST_READ:
            text = line_text(raw, path, number, tally)
            if text is not None:
                yield number, text
        elif kind_of(path) == ".csv":
            reason = f"the line has more than {LONGEST_READ:,} bytes; shorten or remove it"
            tally.report(fault(path, number, reason))
        else:
            tally.drop("over-long line", "source", number)


def line_text(raw: bytes, path: Path, number: int, tally: Tally) -> str | None:
    """A line without its ending, or None where a fault has been noted."""
    try:
        return decoded(raw, path, number, cut=len(raw) >= LONGEST_READ)
    except NotText:
        raise
    except UserError as fault:
        tally.report(fault)
        return None
