"""Read sentence pairs from one table: .tsv, .csv or .jsonl (JSON Lines)."""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dhyan.config.sections import Delimiter, Header
from dhyan.data.detect_table_format import (
    DELIMITERS,
    KNOWN_COLUMNS,
    LABEL_NAME,
    TableFormat,
    detect_format,
    header_columns,
    is_header,
    known_columns,
)
from dhyan.data.read_report import Occurrences, ReadReport
from dhyan.data.text_lines import (
    MAX_LINE_BYTES,
    NotTextError,
    decode_line,
    file_error,
    format_suffix,
    printable,
    read_raw_lines,
)
from dhyan.errors import UserError, spell_option

Row = tuple[int, str, str]  # line number, source, target


def read_table(
    path: Path,
    columns: tuple[str, str] | None,
    report: ReadReport,
    *,
    header: Header = "auto",
    delimiter: Delimiter = "",
) -> Iterator[Row]:
    """Source and target of each row of a .tsv or .csv; a newline inside quotes becomes a space."""
    table = detect_format(path, delimiter)
    report.notes.extend([table.note] if table.note else [])
    rows = table_records(path, table, report)
    first = list(islice(rows, 1))
    layout = _choose_columns(path, first, table.sample, columns, header=header, report=report)
    if layout.header_rows:
        report.columns = [first[0][1][column] for column in layout.columns]
    irregular = Occurrences()
    for line, fields in chain(first[layout.header_rows :], rows):
        if fields in ([], [""]):
            report.drop("blank line", "source", line)
        elif len(fields) > max(layout.columns) and (layout.lenient or len(fields) == layout.width):
            if len(fields) != layout.width:
                irregular.add(report.location("source", line))
            source, target = (fields[column].replace("\n", " ") for column in layout.columns)
            yield line, source, target
        else:
            least = f"at least {max(layout.columns) + 1}" if layout.lenient else layout.width
            reason = f"the number of columns is {len(fields)}, not {least}"
            report.add_error(file_error(path, line, f"{reason}; {_separator_remedy(table)}"))
    if irregular.count:
        rows_count = f"{irregular.count:,} row{'' if irregular.count == 1 else 's'}"
        report.notes.append(
            f"{rows_count} with another number of columns than {layout.width} ({irregular})"
        )


def _separator_remedy(table: TableFormat) -> str:
    name = next((name for name, text in DELIMITERS.items() if text == table.delimiter), "separator")
    quotes = f", and quote texts that hold a {name}" if table.quoted else ""
    return (
        f"separate them by one {name}{quotes}, or name another one with {spell_option('delimiter')}"
    )


@dataclass(frozen=True)
class _Layout:
    """Which two columns hold the pairs, how many columns a row has, and the rows of the header.

    A lenient layout takes rows of other widths that have both columns.
    """

    columns: tuple[int, int]
    width: int
    header_rows: int
    lenient: bool


def _choose_columns(
    path: Path,
    first: Sequence[tuple[int, list[str]]],
    sample: Sequence[list[str]],
    columns: tuple[str, str] | None,
    *,
    header: Header,
    report: ReadReport,
) -> _Layout:
    """The layout of a table by its first rows.

    A .csv has a header, and so has a .tsv whose columns are named; in another .tsv the first row
    is a header if both its cells are names of languages or roles. Numbers name columns by position.
    """
    line, fields = first[0] if first else (1, [""])
    numbers = _column_numbers(path, line, columns, fields)
    detected = is_header(fields, sample[1:])
    named = format_suffix(path) == ".csv" or (columns is not None and numbers is None)
    if header == "no" and columns and numbers is None:
        reason = f"{_spell_columns(columns)} with {spell_option('header', 'no')}"
        raise file_error(path, line, f"{reason}; without a header, give numbers such as 1,2")
    if header == "no" or (header == "auto" and not named and detected != "yes"):
        if detected == "unsure" and header == "auto":
            report.notes.append(f"line {line} {ambiguous_header_note(fields)}")
        width = next((len(row) for row in sample if row not in ([], [""])), len(fields))
        if width > 2 and not columns:
            report.notes.append(f"of {width} columns the first two are taken")
        return _Layout(numbers or (0, 1), width, 0, lenient=format_suffix(path) == ".tsv")
    report.notes.append(f"line {line} {header_note(fields)}")
    if columns is None and not named and len(sides := header_columns(fields)) == 2:
        if len(fields) > 2:
            names = " and ".join(fields[side].strip() for side in sides)
            report.notes.append(f"of {len(fields)} columns {printable(names)} are taken")
        return _Layout((sides[0], sides[1]), len(fields), 1, lenient=True)
    return _Layout(
        numbers or _named_columns(path, line, columns, fields), len(fields), 1, lenient=False
    )


def header_note(fields: Sequence[str]) -> str:
    """What is said of a line that is taken as a header, and how to take it as a pair."""
    names, remedy = printable(", ".join(fields)[:300]), spell_option("header", "no")
    return f"is the header: {names}; if it is a pair, add {remedy}"


def ambiguous_header_note(fields: Sequence[str]) -> str:
    """What is said of a line that may be a header, and how to take it as one."""
    names, remedy = printable(", ".join(fields)[:300]), spell_option("header", "yes")
    return f"looks like a header and is taken as a pair: {names}; if it is one, add {remedy}"


def _spell_columns(names: Sequence[str]) -> str:
    """The option that names two columns, for a message."""
    return spell_option("columns", tuple(map(printable, names)))


def _column_numbers(
    path: Path, line: int, columns: tuple[str, str] | None, fields: list[str]
) -> tuple[int, int] | None:
    """The positions of columns that are named by their numbers, counted from 1."""
    names = [name.strip() for name in fields]
    if columns is None or not all(name.isdecimal() and name not in names for name in columns):
        return None
    source, target = (int(name) - 1 for name in columns)
    if source == target or not (0 <= source < len(names) and 0 <= target < len(names)):
        reason = f"{_spell_columns(columns)}, but there are {len(names)} columns"
        raise file_error(path, line, f"{reason}; give two of their numbers")
    return source, target


def _named_columns(
    path: Path, line: int, columns: tuple[str, str] | None, header: list[str]
) -> tuple[int, int]:
    """The positions of the two columns in the header."""
    names = [name.strip() for name in header]
    if columns is None and (known := known_columns(names)):
        return known[0], known[1]
    choice = f"of {printable(', '.join(names)[:300])}"
    if columns is None and len(names) != 2:
        remedy = f"name two with {_spell_columns(('a', 'b'))} {choice}"
        raise file_error(path, line, f"{len(names)} columns; {remedy}")
    chosen = columns or (names[0], names[1])
    for name in chosen:
        if name not in names:
            reason = f"no column is called {printable(name)}"
            raise file_error(path, line, f"{reason}; {_close_name(name, names)} {choice}")
        if names.count(name) > 1:
            reason = f"{names.count(name)} columns are called {printable(name)}"
            raise file_error(path, line, f"{reason}; give each a name of its own in the header")
    source, target = names.index(chosen[0]), names.index(chosen[1])
    if source == target:
        raise file_error(path, line, f"both sides are {printable(chosen[0])}; name two {choice}")
    return source, target


def table_records(
    path: Path, table: TableFormat, report: ReadReport
) -> Iterator[tuple[int, list[str]]]:
    """The fields of each record as they are, with the line it begins on."""
    records = _csv_records(path, table, report) if table.quoted else _tsv_rows(path, report)
    return (record for record in records if record[0] > table.skipped_lines)


def _tsv_rows(path: Path, report: ReadReport) -> Iterator[tuple[int, list[str]]]:
    for number, text in read_table_lines(path, report):
        yield number, text.split("\t")


def _csv_records(
    path: Path, table: TableFormat, report: ReadReport
) -> Iterator[tuple[int, list[str]]]:
    """Records with the line each begins on; a field in quotes may hold newlines."""
    record_lines: list[int] = []

    def lines() -> Iterator[str]:
        for number, text in read_table_lines(path, report):
            record_lines.append(number)
            # The csv module ends a line at any \r; \0, which no line may hold, replaces it.
            yield text.replace("\r", "\0") + "\n"

    csv.field_size_limit(MAX_LINE_BYTES)
    reader = csv.reader(lines(), delimiter=table.delimiter, strict=True)
    while True:
        record_lines.clear()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            remedy = 'close every quote, and write a quote inside quotes as ""'
            reason = f"broken quoting ({error}); {remedy}"
            report.add_error(file_error(path, record_lines[0], reason))
        else:
            yield record_lines[0], [text.replace("\0", "\r") for text in fields]


def read_jsonl(path: Path, columns: tuple[str, str] | None, report: ReadReport) -> Iterator[Row]:
    """Source and target of each object of a .jsonl; a newline inside a text becomes a space.

    Without columns the keys are `source` and `target` or another known pair, such as `text` and
    `label`, or the only two texts of the first object; a label may be a whole number.
    A key of a nested object is named with a dot, as in `translation.en`.
    """
    if columns and columns[0] == columns[1]:
        raise file_error(path, 0, f"both sides are {printable(columns[0])}; name two keys")
    keys = columns
    for line, text in read_table_lines(path, report):
        if not text or text.isspace():
            report.drop("blank line", "source", line)
            continue
        try:
            record = parse_object(path, line, text)
            report.columns = keys = keys or _choose_keys(path, line, record)
            source, target = (text_value(path, line, record, key) for key in keys)
        except UserError as error:
            report.add_error(error)
        else:
            yield line, source, target


def parse_object(path: Path, line: int, text: str) -> dict[str, Any]:
    """The object of a line of JSON, or an error that names the line."""
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON at character {error.pos + 1} ({error.msg})"
        raise file_error(path, line, f"{reason}; write one object on each line") from None
    except (ValueError, RecursionError):
        reason = "JSON too large to read; write one small object a line"
        raise file_error(path, line, reason) from None
    if not isinstance(record, dict):
        example = '{"source": "…", "target": "…"}'
        raise file_error(path, line, f"JSON, but no object; write one such as {example}")
    return record


def _choose_keys(path: Path, line: int, record: dict[str, Any]) -> tuple[str, str]:
    for source, target in KNOWN_COLUMNS:
        if source in record and target in record:
            return source, target
    keys = [key for key, value in record.items() if isinstance(value, str)]
    if len(keys) != 2:
        reason = f"{len(keys)} texts, and no source and target"
        nested = [key for key, value in _flatten(record).items() if isinstance(value, str)]
        if len(nested) == 2:
            raise file_error(path, line, f"{reason}; give {_spell_columns(nested)}")
        remedy = f"name two with {_spell_columns(('a', 'b'))} {_key_list(record)}"
        raise file_error(path, line, f"{reason}; {remedy}")
    return keys[0], keys[1]


def text_value(path: Path, line: int, record: dict[str, Any], key: str) -> str:
    """The text under a key of an object, with spaces for newlines; else an error."""
    if "." in key and key not in record:
        record = _flatten(record)
    if key not in record:
        hint = f"{_close_name(key, list(record))} {_key_list(record)}"
        raise file_error(path, line, f"no key is called {printable(key)}; {hint}")
    text = record[key]
    if key.rpartition(".")[2].lower() == LABEL_NAME and type(text) in (int, bool):
        text = json.dumps(text)
    if not isinstance(text, str):
        reason = f"{printable(key)} is {printable(json.dumps(text))[:60]}, not a text"
        raise file_error(path, line, f"{reason}; write it in quotes")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        reason = f"{printable(key)} holds NUL or half a surrogate pair"
        raise file_error(path, line, f"{reason}; write whole characters, and no NUL")
    return text.replace("\n", " ")


def _key_list(record: dict[str, Any]) -> str:
    return f"of {printable(', '.join(_flatten(record))[:300])}"


def _flatten(record: dict[str, Any]) -> dict[str, Any]:
    """An object with the keys of its nested objects joined by dots, one level deep."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        nested = value if isinstance(value, dict) else {}
        flat |= {f"{key}.{inner}": item for inner, item in nested.items()} or {key: value}
    return flat


def _close_name(name: str, names: list[str]) -> str:
    """A suggestion for a column or key that is not there."""
    close = get_close_matches(name, names, n=1)
    return f"did you mean {printable(close[0])}, or another" if close else "name two"


def read_table_lines(path: Path, report: ReadReport) -> Iterator[tuple[int, str]]:
    """Numbered lines of a table; an over-long line is dropped, in .csv it is an error.

    A truncated line has lost columns, and in .csv perhaps a closing quote.
    """
    for number, raw in enumerate(read_raw_lines(path), 1):
        if len(raw) < MAX_LINE_BYTES:
            text = decode_or_report(raw, path, number, report)
            if text is not None:
                yield number, text
        elif format_suffix(path) == ".csv":
            reason = f"the line has more than {MAX_LINE_BYTES:,} bytes; shorten or remove it"
            report.add_error(file_error(path, number, reason))
        else:
            report.drop("over-long line", "source", number)


def decode_or_report(raw: bytes, path: Path, number: int, report: ReadReport) -> str | None:
    """A line without its ending, or None where an error was added to the report."""
    try:
        return decode_line(raw, path, number, truncated=len(raw) >= MAX_LINE_BYTES)
    except NotTextError:
        raise
    except UserError as error:
        report.add_error(error)
        return None
