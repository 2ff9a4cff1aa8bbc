"""Add a column to a table: read one text column, write the table back with a new one."""

import csv
import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Protocol, runtime_checkable

from dhyan.config.sections import Delimiter, Header
from dhyan.data.detect_table_format import TableFormat, detect_format, is_header
from dhyan.data.read_report import ReadReport
from dhyan.data.read_table import parse_object, read_table_lines, table_records, text_value
from dhyan.data.text_lines import (
    TABLE_SUFFIXES,
    file_error,
    format_suffix,
    printable,
    read_raw_lines,
)
from dhyan.errors import UserError, spell_option

FORMATS = (".csv", ".tsv", ".jsonl")


@dataclass(frozen=True)
class TableRow:
    """A row: the line it begins on, the text of the column, and its fields or its JSON text."""

    line: int
    text: str
    fields: Sequence[str]


@dataclass(frozen=True)
class FileForm:
    """How a file begins and how its lines end, to be written back as it was.

    `start` is what comes before the first row: a byte order mark, a `sep=;` line, or nothing.
    """

    start: str
    line_ending: str


@runtime_checkable
class TableColumn(Protocol):
    """A column of a table that is read, and a new column that is written beside all others."""

    @property
    def form(self) -> FileForm:
        """How the file begins and how its lines end."""
        ...

    def header(self) -> str:
        """The header with the new column; empty where there is none."""
        ...

    def rows(self) -> Iterator[TableRow]:
        """Every row of the file; a blank line is a row without text."""
        ...

    def with_value(self, row: TableRow, value: str) -> str:
        """The row with a value in the new column, as a line of the file."""
        ...


def open_column(
    path: Path,
    column: str,
    new_column: str,
    *,
    header: Header = "auto",
    delimiter: Delimiter = "",
) -> TableColumn:
    """A column of a .csv, .tsv or .jsonl, by its name, its number from 1, or its key."""
    suffix = format_suffix(path)
    if suffix not in FORMATS:
        kind = f"is a {suffix}" if suffix in TABLE_SUFFIXES else "is not a table"
        raise file_error(path, 0, f"{kind}; columns are those of a {', '.join(FORMATS)}")
    if suffix == ".jsonl":
        return _JsonColumn(path, column, new_column)
    return _open_delimited(path, column, new_column, header=header, delimiter=delimiter)


def column_names(path: Path, delimiter: Delimiter = "") -> list[str]:
    """The columns or keys of the first row of a table, to choose from."""
    if format_suffix(path) == ".jsonl":
        line, text = next(read_table_lines(path, ReadReport()), (1, "{}"))
        return list(parse_object(path, line, text))
    return list(next(iter(detect_format(path, delimiter).sample), []))


def _file_form(path: Path, skipped_lines: int = 0) -> FileForm:
    """The form of a file by its first line; `skipped_lines` come before the table."""
    lines = list(islice(read_raw_lines(path), max(1, skipped_lines)))
    start = "\ufeff" if lines and lines[0].startswith(BOM_UTF8) else ""
    start += b"".join(lines[:skipped_lines]).decode("utf-8-sig", "replace")
    return FileForm(start, "\r\n" if lines and lines[0].endswith(b"\r\n") else "\n")


@dataclass(frozen=True)
class _DelimitedColumn:
    """A column of a .csv or .tsv; `names` is the header, if there is one."""

    path: Path
    format: TableFormat
    names: Sequence[str]
    index: int
    width: int
    new_column: str

    @property
    def form(self) -> FileForm:
        return _file_form(self.path, self.format.skipped_lines)

    def header(self) -> str:
        return self._line([*self.names, self.new_column]) if self.names else ""

    def rows(self) -> Iterator[TableRow]:
        for line, fields in islice(_records(self.path, self.format), bool(self.names), None):
            if fields in ([], [""]):
                yield TableRow(line, "", [])
            elif len(fields) != self.width:
                reason = f"the number of columns is {len(fields)}, not {self.width}"
                raise file_error(self.path, line, f"{reason}; give every row the same columns")
            else:
                yield TableRow(line, " ".join(fields[self.index].split("\n")), fields)

    def with_value(self, row: TableRow, value: str) -> str:
        return self._line([*row.fields, value]) if row.fields else ""

    def _line(self, fields: Sequence[str]) -> str:
        if not self.format.quoted:
            return self.format.delimiter.join(fields)
        line = StringIO()
        csv.writer(line, delimiter=self.format.delimiter, lineterminator="").writerow(fields)
        return line.getvalue()


@dataclass(frozen=True)
class _JsonColumn:
    """A key of the objects of a .jsonl; a dot names the key of a nested object."""

    path: Path
    key: str
    new_key: str

    @property
    def form(self) -> FileForm:
        return _file_form(self.path)

    def header(self) -> str:
        return ""

    def rows(self) -> Iterator[TableRow]:
        for line, text in read_table_lines(self.path, ReadReport()):
            if not text.strip():
                yield TableRow(line, "", [])
                continue
            record = parse_object(self.path, line, text)
            if self.new_key in record:
                raise _exists(self.path, line, self.new_key)
            yield TableRow(line, text_value(self.path, line, record, self.key), [text.strip()])

    def with_value(self, row: TableRow, value: str) -> str:
        """The object as it was written, with one more key at its end."""
        if not row.fields:
            return ""
        key, text = (json.dumps(item, ensure_ascii=False) for item in (self.new_key, value))
        return f"{row.fields[0][:-1].rstrip()}, {key}: {text}}}"


def _open_delimited(
    path: Path, column: str, new_column: str, *, header: Header, delimiter: Delimiter
) -> TableColumn:
    table = detect_format(path, delimiter)
    line, first = next(_records(path, table), (1, list[str]()))
    names = [name.strip() for name in first]
    number = int(column) if column.isdecimal() and column not in names else 0
    if header == "no" and not number:
        reason = f"{spell_option('columns', column)} with {spell_option('header', 'no')}"
        raise file_error(path, line, f"{reason}; without a header, give a number such as 1")
    headed = format_suffix(path) == ".csv" or not number
    headed = headed or is_header(first, table.sample[1:]) == "yes"
    headed = header == "yes" or (header == "auto" and headed)
    if number and not 0 < number <= len(names):
        reason = f"{spell_option('columns', column)}, but there are {len(names)} columns"
        raise file_error(path, line, f"{reason}; give one of their numbers")
    index = number - 1 if number else _named_column(path, line, column, names)
    if headed and new_column in names:
        raise _exists(path, line, new_column)
    return _DelimitedColumn(path, table, first if headed else [], index, len(first), new_column)


def _records(path: Path, table: TableFormat) -> Iterator[tuple[int, list[str]]]:
    return table_records(path, table, ReadReport())


def _named_column(path: Path, line: int, column: str, names: Sequence[str]) -> int:
    choice = f"of {printable(', '.join(names)[:300])}"
    if names.count(column) > 1:
        reason = f"{names.count(column)} columns are called {printable(column)}"
        raise file_error(path, line, f"{reason}; give each a name of its own in the header")
    if column not in names:
        close = get_close_matches(column, names, n=1)
        hint = f"did you mean {printable(close[0])}, or another" if close else "name one"
        raise file_error(path, line, f"no column is called {printable(column)}; {hint} {choice}")
    return names.index(column)


def _exists(path: Path, line: int, name: str) -> UserError:
    return file_error(path, line, f"has a column {name} already; rename or remove it")
