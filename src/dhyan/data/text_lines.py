"""Lines of a UTF-8 text file, plain or compressed, split at newlines only."""

import codecs
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from dhyan.errors import UserError
from dhyan.text.compressed_files import OPENERS, decompression_errors
from dhyan.text.languages import language_of
from dhyan.text.legacy_encodings import guess_encodings, utf16_byte_order

MAX_LINE_BYTES = 2**20  # the rest of a longer line is skipped, so memory stays flat
PREVIEW_BYTES = 200  # how much is shown of a line that is too long
TOO_LONG = f"a line of {MAX_LINE_BYTES:,} bytes or more; split it"

SAMPLE_LINES = 20_000  # that are read to find out the encoding of a file
SAMPLE_BYTES = 4096

TABLE_SUFFIXES = {".tsv", ".csv", ".jsonl", ".tmx"}
MAGIC_NUMBERS = {
    b"\x1f\x8b": "gzip data; end its name in .gz",
    b"\xfd7zXZ\0": "xz data; end its name in .xz",
    b"BZh": "bzip2 data; decompress it",
    b"PK\x03\x04": "a zip archive; unpack it",
    b"\x28\xb5\x2f\xfd": "zstd data; end its name in .zst",
    b"\xff\xfe\0\0": "UTF-32; convert it with `iconv -f UTF-32 -t UTF-8`",
    b"\xff\xfe": "UTF-16; convert it with `iconv -f UTF-16 -t UTF-8`",
    b"\xfe\xff": "UTF-16; convert it with `iconv -f UTF-16 -t UTF-8`",
}


def format_suffix(path: Path) -> str:
    """The suffix that names the file format, in lower case: `.tsv` of `a.tsv.gz`."""
    return (path.with_suffix("") if path.suffix.lower() in OPENERS else path).suffix.lower()


def has_columns(path: Path) -> bool:
    """Whether a file or folder holds a table, whose columns can be named."""
    return format_suffix(path) in TABLE_SUFFIXES or os.path.isdir(path)


def printable(name: object) -> str:
    """A name from outside with control characters escaped, to stand in one line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(name))


def file_error(path: Path, line: int, reason: str) -> UserError:
    """An error at `file:line`, or of the whole file where line is 0."""
    return UserError(f"{printable(path)}{f':{line}' if line else ''}: {reason}")


class NotTextError(UserError):
    """The file is not UTF-8 text at all, so the other lines need not be read."""


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a text file without their line endings; the file may be empty."""
    for number, raw in enumerate(read_raw_lines(path, may_be_empty=True), 1):
        if len(raw) >= MAX_LINE_BYTES:
            raise file_error(path, number, TOO_LONG)
        yield decode_line(raw, path, number)


def decode_line(raw: bytes, path: Path, number: int, *, truncated: bool = False) -> str:
    """A line without its ending, or an error; a truncated line may end inside a character."""
    position = raw.find(0)
    if position < 0:
        try:
            return _strip_ending(codecs.utf_8_decode(raw, "strict", not truncated)[0], number)
        except UnicodeDecodeError as error:
            position = error.start
    sample = _sample(path)
    if format_hint := _other_format(raw if number == 1 else b"", sample.start):
        raise NotTextError(str(file_error(path, 1, format_hint)))
    raise file_error(path, number, _decoding_error(raw, position, sample, language_of(path.name)))


def decode_leniently(raw: bytes, number: int) -> tuple[str, str]:
    """A line as far as it can be decoded, and the reason why it cannot be; NUL is allowed here."""
    if len(raw) >= MAX_LINE_BYTES:
        return f"{_strip_ending(raw[:PREVIEW_BYTES].decode(errors='ignore'), number)}…", TOO_LONG
    try:
        return _strip_ending(raw.decode(), number), ""
    except UnicodeDecodeError as error:
        sample = _Sample(raw, raw[:SAMPLE_BYTES], 0, 1)
        reason = (number == 1 and _other_format(raw, raw)) or _decoding_error(
            raw, error.start, sample, ""
        )
        return _strip_ending(raw.decode(errors="replace"), number), reason


def _strip_ending(text: str, number: int) -> str:
    text = text.removeprefix("\ufeff") if number == 1 else text
    return text.removesuffix("\n").removesuffix("\r")


def _other_format(first_line: bytes, start: bytes) -> str:
    """The format of a file with this first line and these first bytes, if it is not text."""
    for magic, description in MAGIC_NUMBERS.items():
        if first_line.startswith(magic):
            return f"this looks like {description}"
    if name := utf16_byte_order(start):
        return f"this looks like UTF-16; convert it with `iconv -f {name} -t UTF-8`"
    return ""


class _Sample(NamedTuple):
    """The start of a file, and the first lines of it that are not UTF-8."""

    start: bytes
    undecodable: bytes
    utf8_lines: int  # with characters beyond ASCII
    undecodable_lines: int


def _sample(path: Path) -> _Sample:
    try:
        status = path.stat()
        return _read_sample(path, status.st_size, status.st_mtime_ns)
    except (UserError, OSError):  # the line that is named comes before what cannot be read
        return _Sample(b"", b"", 0, 1)


@lru_cache(maxsize=8)
def _read_sample(path: Path, size: int, modified: int) -> _Sample:
    """The sample of a file of this size and time: a report may name many lines of one file."""
    with open_corpus_file(path, lambda: 0) as file:
        start = file.read(SAMPLE_BYTES)
    undecodable, utf8_lines, undecodable_lines = b"", 0, 0
    for raw in islice(read_raw_lines(path), SAMPLE_LINES):
        if raw.isascii():
            continue
        try:
            raw.decode()
            utf8_lines += 1
        except UnicodeDecodeError:
            undecodable_lines += 1
            if len(undecodable) < SAMPLE_BYTES:
                undecodable += raw[:SAMPLE_BYTES]
    return _Sample(start, undecodable, utf8_lines, undecodable_lines)


def _decoding_error(raw: bytes, position: int, sample: _Sample, language: str) -> str:
    """Why the byte at this position of a line is not text, and how to repair the file."""
    if raw[position] == 0:
        return f"byte {position + 1} of the line is NUL; give a text file, or remove the byte"
    reason = f"byte {position + 1} of the line (0x{raw[position]:02x}) is not UTF-8"
    if sample.utf8_lines > sample.undecodable_lines:
        return f"{reason}, but most of the file is; repair the line, or remove it"
    guesses = guess_encodings(sample.undecodable or raw, language)
    if not guesses:
        return f"{reason}; convert the file with `iconv -f ENCODING -t UTF-8`, or repair the line"
    commands = " or ".join(f"`iconv -f {guess.encoding} -t UTF-8`" for guess in guesses)
    names = " or ".join(map(str, guesses))
    return f"{reason}; convert the file, which looks like {names}, with {commands}"


@contextmanager
def open_corpus_file(path: Path, line: Callable[[], int]) -> Iterator[IO[bytes]]:
    """A file, plain or compressed, whose errors name the line that `line` returns.

    It must be a regular file, and must not change while it is open.
    """
    try:
        before = path.stat()
        if not stat.S_ISREG(before.st_mode):
            file_type = "a folder" if stat.S_ISDIR(before.st_mode) else "not a regular file"
            raise file_error(
                path, 0, f"is {file_type}; give a file that can be read more than once"
            )
        with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            yield file
        after = path.stat()
    except FileNotFoundError:
        raise file_error(path, 0, f"there is no such file; {suggest_path(path)}") from None
    except decompression_errors() as error:
        reason = f"broken {path.suffix} data ({error}); fetch or compress the file again"
        raise file_error(path, line() + 1, reason) from None
    except OSError as error:
        reason = f"cannot be read ({error.strerror}); check its permissions and its disk"
        raise file_error(path, 0, reason) from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        reason = "changed while it was read; start again when the file is complete"
        raise file_error(path, line(), reason)


def read_raw_lines(path: Path, *, may_be_empty: bool = False) -> Iterator[bytes]:
    """The lines of a file, split at \\n only; an over-long line is truncated."""
    number = 0
    with open_corpus_file(path, lambda: number) as file:
        for line in split_lines(file):
            number += 1
            yield line
    if not number and not may_be_empty:
        raise file_error(path, 0, "is empty; give a file with one sentence on each line")


def split_lines(stream: IO[bytes] | BytesIO) -> Iterator[bytes]:
    """The lines of a stream, split at \\n only; an over-long line is truncated."""
    while line := stream.readline(MAX_LINE_BYTES):
        rest = line
        while len(rest) == MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LINE_BYTES)
        yield line


def suggest_path(path: Path) -> str:
    """A suggestion for a path that does not exist: a file of nearly this name beside it."""
    folder = path.parent
    names = os.listdir(folder) if os.access(folder, os.R_OK | os.X_OK) else []
    close = get_close_matches(path.name, names, n=1)
    return f"did you mean {printable(close[0])}?" if close else "check the spelling of the path"
