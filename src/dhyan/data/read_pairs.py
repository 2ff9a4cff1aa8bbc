"""Read parallel text from two files or one table; every error names the file and the line."""

import os
import re
from array import array
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

import numpy as np
from jaxtyping import Float

from dhyan.config.sections import Delimiter, Header
from dhyan.data.detect_table_format import header_columns
from dhyan.data.filters import Deduplicator, LengthFilter, unescape_entities
from dhyan.data.pairs import Pair, Side
from dhyan.data.read_conll import read_conll
from dhyan.data.read_pictures import read_pictures
from dhyan.data.read_report import ReadReport
from dhyan.data.read_table import (
    Row,
    ambiguous_header_note,
    decode_or_report,
    header_note,
    read_jsonl,
    read_table,
)
from dhyan.data.read_tmx import read_tmx
from dhyan.data.text_lines import (
    TABLE_SUFFIXES,
    file_error,
    format_suffix,
    printable,
    read_raw_lines,
)

Reader = Callable[[Path, ReadReport], Iterator[Row]]
"""Reads rows (line, source, target) from one file; faults go to the report."""

NO_FILTER = LengthFilter()
_formats: dict[str, Reader] = {".conll": read_conll}
MAX_LENGTH = 2**16 - 1  # characters of a line that alignment counts
_NUMBERS = re.compile(rb"\d{1,15}")


def register_format(suffix: str, reader: Reader) -> None:
    """Read files of this suffix, such as `.conll`, with this reader."""
    if suffix in TABLE_SUFFIXES or _formats.get(suffix, reader) is not reader:
        raise ValueError(f"{suffix!r} is read by another reader: choose another suffix")
    _formats[suffix] = reader


def has_reader(path: Path) -> bool:
    """Whether a file is read by a registered reader."""
    return format_suffix(path) in _formats


def read_pairs(
    source: Path,
    target: Path | None = None,
    *,
    columns: tuple[str, str] | None = None,
    header: Header = "auto",
    delimiter: Delimiter = "",
    unescape: bool = False,
    dedupe: bool = False,
    length_filter: LengthFilter = NO_FILTER,
    report: ReadReport | None = None,
) -> Iterator[Pair]:
    """The usable pairs of two text files, or of one .tsv, .csv, .jsonl, .tmx or .conll.

    All of them may be compressed; further formats are registered by their suffix. A folder holds
    pictures and their texts (`read_pictures`).

    `columns` names two columns of a header, two keys, or two languages of a .tmx. `unescape`
    replaces HTML entities; `dedupe` drops pairs that came before. What the length filter rejects is
    counted in the report; whatever would misalign or corrupt the others is a UserError.
    """
    report = ReadReport() if report is None else report
    report.files = {"source": printable(source), "target": printable(target or source)}
    duplicates = Deduplicator() if dedupe else None
    usable = False
    for line, source_text, target_text in _rows(
        source, target, columns, report, header=header, delimiter=delimiter
    ):
        if unescape:
            source_text = _unescape(source_text, "source", line, report)
            target_text = _unescape(target_text, "target", line, report)
        if rejection := length_filter.rejection(source_text, target_text):
            report.drop(*rejection, line)
            continue
        if duplicates and duplicates.is_duplicate(source_text, target_text):
            report.drop("duplicate of an earlier pair", "source", line)
            continue
        usable = True
        pair = Pair(source_text, target_text, line)
        report.keep(pair)
        yield pair
    if not usable:
        counts = ", ".join(f"{n.count:,} × {reason}" for reason, n in report.dropped.items())
        reason = f"no usable pair ({counts or 'no line'}); check that it is a parallel corpus"
        raise file_error(source, 0, reason)


def _unescape(text: str, side: Side, line: int, report: ReadReport) -> str:
    if "&" not in text:
        return text
    unescaped = unescape_entities(text)
    if unescaped != text:
        report.unescaped.add(report.location(side, line))
    return unescaped


def _rows(
    source: Path,
    target: Path | None,
    columns: tuple[str, str] | None,
    report: ReadReport,
    *,
    header: Header,
    delimiter: Delimiter,
) -> Iterator[Row]:
    suffix = format_suffix(source)
    if target is None and os.path.isdir(source):
        return read_pictures(source, report, columns=columns, header=header, delimiter=delimiter)
    if target is None and suffix in _formats:
        return _formats[suffix](source, report)
    if target is None:
        if suffix == ".json":
            remedy = "if it holds one object on each line, rename it to .jsonl"
            raise file_error(source, 0, f"is a .json; {remedy}")
        if suffix not in TABLE_SUFFIXES:
            remedy = "give the target file too, or one .tsv, .csv, .jsonl, .tmx or .conll"
            raise file_error(source, 0, f"has one side; {remedy}")
        if suffix == ".jsonl":
            return read_jsonl(source, columns, report)
        if suffix == ".tmx":
            return read_tmx(source, columns, report)
        return read_table(source, columns, report, header=header, delimiter=delimiter)
    if columns or (TABLE_SUFFIXES | _formats.keys()) & {suffix, format_suffix(target)}:
        remedy = "give one .tsv, .csv, .jsonl or .tmx, or two text files and no columns"
        raise file_error(target, 0, f"is a second file; {remedy}")
    return _skip_header(_read_two_files(source, target, report), header, report)


def _skip_header(rows: Iterator[Row], header: Header, report: ReadReport) -> Iterator[Row]:
    """The lines of two text files; a first line that names languages is noted, or left out."""
    for line, source, target in rows:
        if line == 1 and header == "yes":
            report.notes.append(f"line 1 {header_note((source, target))}")
            continue
        if line == 1 and header == "auto" and header_columns((source, target)):
            report.notes.append(f"line 1 {ambiguous_header_note((source, target))}")
        yield line, source, target


def _read_two_files(source: Path, target: Path, report: ReadReport) -> Iterator[Row]:
    if os.path.exists(source) and os.path.exists(target) and os.path.samefile(source, target):
        raise file_error(target, 0, "is the source file again; give the file of translations")
    source_lines, target_lines = read_raw_lines(source), read_raw_lines(target)
    for number, (raw_source, raw_target) in enumerate(zip_longest(source_lines, target_lines), 1):
        if raw_source is None or raw_target is None:
            source_ended = raw_source is None
            shorter, longer = (source, target) if source_ended else (target, source)
            total = number + sum(1 for _ in (target_lines if source_ended else source_lines))
            reason = f"the number of lines is {number - 1:,}, but {printable(longer)} has {total:,}"
            line = first_misaligned_line(source, target)
            remedy = f"line N must translate line N; they seem to be misaligned from line {line:,}"
            report.add_error(file_error(shorter, number - 1, f"{reason}; {remedy}"))
            return
        source_text = decode_or_report(raw_source, source, number, report)
        target_text = decode_or_report(raw_target, target, number, report)
        if source_text is not None and target_text is not None:
            yield number, source_text, target_text


def first_misaligned_line(source: Path, target: Path) -> int:
    """The line of two files of unequal length from which on they align better if one is shifted.

    The missing lines are assumed to be missing in one place. Two lines align if their lengths have
    the ratio of the whole files, they hold the same numbers, and they are blank together.
    """
    shorter, longer = sorted((_LineFeatures(source), _LineFeatures(target)), key=len)
    before = _alignment_costs(shorter, longer, 0)
    after = _alignment_costs(shorter, longer, len(longer) - len(shorter))
    cost_from = np.concatenate((np.cumsum(after[::-1])[::-1], [0.0]))
    cost_until = np.concatenate(([0.0], np.cumsum(before)))
    return int(np.argmin(cost_until + cost_from)) + 1


class _LineFeatures:
    """Length and numbers of every line of a file: features that need no knowledge of the language."""

    def __init__(self, path: Path) -> None:
        self.lengths, self.numbers = array("H"), array("I")
        for line in read_raw_lines(path):
            text = line.strip()
            self.lengths.append(min(len(text.decode("utf-8", "replace")), MAX_LENGTH))
            self.numbers.append(hash(tuple(map(int, _NUMBERS.findall(text[:1000])))) % 2**32)

    def __len__(self) -> int:
        return len(self.lengths)


def _alignment_costs(
    shorter: _LineFeatures, longer: _LineFeatures, shift: int
) -> Float[np.ndarray, " N"]:
    """The cost of aligning each line with the one `shift` lines further on in the longer file."""
    lengths = np.array(shorter.lengths, np.float64)
    all_lengths = np.array(longer.lengths, np.float64)
    log_ratio = np.log((lengths.sum() + 1) / (all_lengths.sum() + 1))
    window = slice(shift, shift + len(lengths))
    length_cost = np.abs(np.log((lengths + 1) / (all_lengths[window] + 1)) - log_ratio)
    different_numbers = np.array(shorter.numbers) != np.array(longer.numbers)[window]
    return np.minimum(length_cost, 2.0) + 2.0 * different_numbers
