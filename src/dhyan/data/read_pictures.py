"""Read a folder of pictures and their texts: a table of captions, or a .txt beside each picture."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath

from dhyan.config.sections import Delimiter, Header
from dhyan.data.detect_table_format import detect_format
from dhyan.data.read_report import ReadReport
from dhyan.data.read_table import (
    Row,
    parse_object,
    read_jsonl,
    read_table,
    read_table_lines,
)
from dhyan.data.text_lines import file_error, format_suffix, printable, read_lines
from dhyan.errors import UserError
from dhyan.safe_io.data_uri import is_data_uri
from dhyan.text.image_frames import SUFFIXES

CAPTIONS = ("captions.tsv", "captions.csv", "captions.jsonl")
PICTURE_COLUMNS = ("image", "file", "file_name", "filename", "picture", "path", "source")
TEXT_COLUMNS = ("text", "caption", "transcription", "label", "sentence", "target")


def read_pictures(
    path: Path,
    report: ReadReport,
    *,
    columns: tuple[str, str] | None = None,
    header: Header = "auto",
    delimiter: Delimiter = "",
) -> Iterator[Row]:
    """The path of each picture in a folder, and its text.

    The folder holds a captions.tsv, .csv or .jsonl with a column of file names (`image`, `file` …)
    and one of texts (`text`, `caption` …), or for every `a.png` its text in an `a.txt`. `columns`
    names other columns. A file outside the folder is an error, and so is one that is not there.
    """
    report.folder = f"{path}{os.sep}"
    tables = [path / name for name in CAPTIONS if (path / name).exists()]
    if len(tables) > 1:
        names = " and ".join(table.name for table in tables)
        raise file_error(path, 0, f"has both {names}; keep one of them")
    if not tables:
        yield from _read_beside(path, report)
        return
    [table] = tables
    report.files = {"source": printable(table), "target": printable(table)}
    for line, name, text in _read_captions(table, report, columns, header, delimiter):
        try:
            yield line, picture_in(path, name), text
        except UserError as error:
            report.add_error(file_error(table, line, str(error)))


def picture_in(folder: Path, name: str) -> str:
    """The path of a picture in a folder; a data URI stays as it is.

    A name that leads out of the folder, also by a link, is an error.
    """
    if is_data_uri(name):
        return name
    parts = {*PurePosixPath(name).parts, *PureWindowsPath(name).parts}
    is_absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute()
    picture = folder / name
    if not name or "\0" in name or is_absolute or ".." in parts:
        raise UserError(f"{printable(name)} is not in the folder; give names inside of it")
    if not picture.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{printable(name)} is a link out of the folder; copy the file into it")
    if not picture.is_file():
        raise UserError(f"there is no file {printable(name)}; check its name")
    return str(picture)


def _read_captions(
    table: Path,
    report: ReadReport,
    columns: tuple[str, str] | None,
    header: Header,
    delimiter: Delimiter,
) -> Iterator[Row]:
    if format_suffix(table) == ".jsonl":
        return read_jsonl(table, columns or _known_columns(_first_keys(table)), report)
    if columns is None and header != "no":
        sample = detect_format(table, delimiter).sample
        columns = _known_columns([cell.strip() for cell in sample[0]] if sample else ())
        header = "yes" if columns else header
    return read_table(table, columns, report, header=header, delimiter=delimiter)


def _first_keys(table: Path) -> Sequence[str]:
    """The keys of the first object of a .jsonl."""
    for line, text in islice(read_table_lines(table, ReadReport()), 1):
        return list(parse_object(table, line, text))
    return ()


def _known_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """The columns of pictures and of texts, by their usual names."""
    pictures = [name for name in names if name.lower() in PICTURE_COLUMNS]
    texts = [name for name in names if name.lower() in TEXT_COLUMNS]
    return (pictures[0], texts[0]) if pictures and texts else None


def _read_beside(folder: Path, report: ReadReport) -> Iterator[Row]:
    """Each picture of a folder, by name, with the text of the .txt beside it."""
    names = sorted(os.listdir(folder))
    pictures = [name for name in names if Path(name).suffix.lower() in SUFFIXES]
    if not pictures:
        reason = f"is a folder without {' or '.join(CAPTIONS)} and without pictures"
        raise file_error(folder, 0, f"{reason}; give a file of pairs, or add one of them")
    for number, name in enumerate(pictures, 1):
        text = (folder / name).with_suffix(".txt")
        if not text.exists():
            report.drop("picture without a text", "target", number)
            continue
        picture_in(folder, text.name)
        lines = (line.strip() for line in read_lines(text))
        yield number, picture_in(folder, name), " ".join(filter(None, lines))
