"""Table format detection: the delimiter of the columns, and whether the first row is a header."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from dhyan.config.sections import Delimiter
from dhyan.data.text_lines import MAX_LINE_BYTES, file_error, format_suffix, read_raw_lines
from dhyan.errors import spell_option
from dhyan.text.languages import LANGUAGE_NAMES, language_code, language_named

SAMPLE_LINES = 100  # the first ones, by which the delimiter is detected
DELIMITERS: dict[Delimiter, str] = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
MIN_MEAN_LENGTH = 3.0  # of the other cells, in characters, where a header holds two short codes

KNOWN_COLUMNS = (
    ("source", "target"),
    ("text", "label"),
    ("sentence", "label"),
    ("text", "summary"),
    ("document", "summary"),
    ("article", "summary"),
    ("image", "caption"),
    ("image", "text"),
)  # what people call the two sides of their examples
LABEL_NAME = "label"  # whose values may be numbers

_ROLES = set("source src target tgt trg reference ref translation translated original".split())
_FILLERS = set("text texts sentence sentences segment language lang column side".split())
_OTHER_COLUMNS = set(
    "id ids idx index no nr number line row key uid score similarity laser license licence domain "
    "topic url link split set date context note notes comment origin corpus file document doc".split()
)
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # the first line of some Excel exports


@dataclass(frozen=True)
class TableFormat:
    """The delimiter of a table, whether quotes enclose fields, how many lines come before it.

    `sample` holds its first rows; only a .tsv separated by tabs has no quotes.
    """

    delimiter: str
    quoted: bool
    sample: Sequence[list[str]]
    skipped_lines: int = 0
    note: str = ""


def detect_format(path: Path, delimiter: Delimiter = "") -> TableFormat:
    """The format of a .tsv or .csv by its first lines; a delimiter that is named is taken.

    The suffix names the usual delimiter. Another one is taken only if the usual one does not give
    every row the same number of columns, and the other does.
    """
    usual: Delimiter = "comma" if format_suffix(path) == ".csv" else "tab"
    lines = list(_first_lines(path))
    if lines and not delimiter and (separator := _SEPARATOR_LINE.fullmatch(lines[0].strip())):
        return TableFormat(separator[1], True, _records(lines[1:], separator[1]), skipped_lines=1)
    chosen = delimiter or _detect_delimiter(path, lines, usual)
    note = ""
    if chosen not in (usual, delimiter):
        suffix = format_suffix(path)
        note = f"columns are separated by {chosen}, not by {usual} as usual in a {suffix}"
        note += f"; if that is wrong, add {spell_option('delimiter', usual)}"
    quoted = (usual, chosen) != ("tab", "tab")
    text = DELIMITERS[chosen]
    rows = _records(lines, text) if quoted else [line.split(text) for line in lines]
    return TableFormat(text, quoted, rows, note=note)


def _detect_delimiter(path: Path, lines: Sequence[str], usual: Delimiter) -> Delimiter:
    """The delimiter that makes a table of the lines; the usual one if none does."""
    fitting = [name for name in DELIMITERS if _width(lines, name, usual) > 1]
    headed = [name for name in fitting if header_columns(_first_record(lines, name))]
    chosen = headed or fitting
    if usual in chosen or not chosen:
        return usual
    if len(chosen) == 1 and (headed or usual not in fitting):
        return chosen[0]
    if usual in fitting:
        return usual
    names = " or ".join(chosen)
    remedy = f"name one with {spell_option('delimiter', chosen[0])}"
    raise file_error(path, 1, f"its columns may be separated by {names}; {remedy}")


def _first_lines(path: Path) -> Iterator[str]:
    for raw in islice(read_raw_lines(path), SAMPLE_LINES):
        if len(raw) < MAX_LINE_BYTES:
            yield raw.decode("utf-8-sig", "replace").rstrip("\r\n").replace("\r", " ")


def _width(lines: Sequence[str], delimiter: Delimiter, usual: Delimiter) -> int:
    """The number of columns if every row has the same one, else 0.

    In a .tsv the rows may have further columns; another delimiter needs at least two rows.
    """
    if delimiter == usual == "tab":
        return min((line.count("\t") + 1 for line in lines if line.strip()), default=0)
    widths = [len(record) for record in _records(lines, DELIMITERS[delimiter]) if record]
    if len(set(widths)) != 1 or (delimiter != usual and len(widths) < 2):
        return 0
    return widths[0]


def _first_record(lines: Sequence[str], delimiter: Delimiter) -> list[str]:
    return next(iter(_records(lines, DELIMITERS[delimiter])), [])


def _records(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """The records of the first lines of a table; none if their quoting is broken.

    The sample may end inside its last record.
    """
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    records = []
    try:
        for record in reader:
            records.append(record)
    except csv.Error:
        return records if reader.line_num == len(lines) else []
    return records


def known_columns(names: Sequence[str]) -> list[int]:
    """The columns of the first known pair of names, such as text and label; else none."""
    lowered = [name.strip().lower() for name in names]
    pairs = (pair for pair in KNOWN_COLUMNS if all(lowered.count(name) == 1 for name in pair))
    return [lowered.index(name) for name in next(pairs, ())]


def header_columns(cells: Sequence[str]) -> list[int]:
    """The columns that name a language or a role, if a row looks like a header; else none.

    So are known pairs of names, such as text and label. A role is `source`, `target` or the like.
    Two names of one language ("German", "Deutsch") are a translation, and no header. They are the
    first two columns, or stand among names such as `id`.
    """
    if known_pair := known_columns(cells):
        return known_pair
    meanings = [_column_meaning(cell) for cell in cells]
    sides = [index for index, meaning in enumerate(meanings) if meaning]
    if len(sides) > 2:  # `id` is a code of Indonesian, and a usual name of another column
        sides = [index for index in sides if cells[index].strip().lower() not in _OTHER_COLUMNS]
    others = [cell for index, cell in enumerate(cells) if index not in sides]
    if len({meanings[side] for side in sides}) < max(2, len(sides)):
        return []
    known = all(
        re.split(r"[\s_-]", cell.strip().casefold())[0] in _OTHER_COLUMNS for cell in others
    )
    return sides if known or sides[:2] == [0, 1] else []


def _column_meaning(cell: str) -> str:
    """The language or the role that a cell names, or nothing: "vi" of "Vietnamese sentence"."""
    name = cell.strip().strip("\"'#").strip()
    if len(name) > 40:
        return ""
    if code := language_named(name) or language_code(name):
        return code
    parts = [part.casefold() for part in re.split(r"[\s_.:/()-]+", name) if part]
    words = [part for part in parts if part not in _FILLERS]
    if not parts or len(words) > 1 or len(parts) > 3:
        return ""
    if not words:
        return parts[0]
    word = words[0]
    if word in _ROLES:
        return {"src": "source", "tgt": "target", "trg": "target"}.get(word, word)
    spaced = len(parts) > 1 and re.search(r"\s", name)  # "no text" is a phrase, no_text a column
    return language_named(word) or ("" if spaced else language_code(word))


def column_languages(names: Sequence[str]) -> tuple[str, str]:
    """The languages that the names of two columns tell, or nothing: "en" of `translation.en`.

    `id`, `no` and the like are languages only beside another one.
    """
    source, target = (_column_language(name) for name in names)
    if not (source and target):
        source, target = (
            "" if name.strip().lower() in _OTHER_COLUMNS else code
            for name, code in zip(names, (source, target), strict=True)
        )
    return source, target


def _column_language(name: str) -> str:
    """The language that a name or its last key tells, or nothing; a role is none."""
    meanings = map(_column_meaning, (name, name.rpartition(".")[2]))
    return next((meaning for meaning in meanings if meaning in LANGUAGE_NAMES), "")


def is_header(
    first: Sequence[str], rest: Iterable[Sequence[str]]
) -> Literal["yes", "no", "unsure"]:
    """Whether the first row of a table is a header, judged by its names and by the other rows.

    Names of two languages or roles are a header. Two short codes ("it", "es") may be words, and
    are unsure if the other rows are as short, or look like a header too.
    """
    columns = header_columns(first)
    if not columns:
        return "no"
    if not all(language_code(first[column].strip()) for column in columns):
        return "yes"
    rows = [row for row in rest if len(row) > max(columns)]
    lengths = [len(row[column].strip()) for row in rows for column in columns]
    if any(header_columns(row) for row in rows):
        return "unsure"
    return "yes" if not lengths or sum(lengths) / len(lengths) > MIN_MEAN_LENGTH else "unsure"
