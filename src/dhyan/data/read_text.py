"""The lines of a text file, plain or packed, split at newlines only."""

import codecs
import os
import stat
from collections.abc import Iterator
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from typing import IO

from dhyan.errors import UserError
from dhyan.text.compression import OPEN, signs_of_damage

LONGEST_READ = 2**20  # bytes of a line that are read; the rest is skipped, so memory stays flat
SHOWN = 200  # bytes that are shown of a line too long to be read
TOO_LONG = f"a line of {LONGEST_READ:,} bytes or more; split it"

TABLES = {".tsv", ".csv", ".jsonl"}
MAGIC = {
    b"\x1f\x8b": "gzip data; end its name in .gz",
    b"\xfd7zXZ\0": "xz data; end its name in .xz",
    b"BZh": "bzip2 data; decompress it",
    b"PK\x03\x04": "a zip archive; unpack it",
    b"\x28\xb5\x2f\xfd": "zstd data; end its name in .zst",
    b"\xff\xfe": "UTF-16; convert it with `iconv -f UTF-16 -t UTF-8`",
    b"\xfe\xff": "UTF-16; convert it with `iconv -f UTF-16 -t UTF-8`",
}


def kind_of(path: Path) -> str:
    """The end of a file's name, without what only says how it is packed."""
    return (path.with_suffix("") if path.suffix.lower() in OPEN else path).suffix.lower()


def said(name: object) -> str:
    """A name from outside, fit to stand in one line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(name))


def fault(path: Path, line: int, reason: str) -> UserError:
    """A fault at `file:line`, or of the whole file where line is 0."""
    return UserError(f"{said(path)}{f':{line}' if line else ''}: {reason}")


class NotText(UserError):
    """A file that is no UTF-8 text at all, so that its other lines need not be looked at."""


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a text without their endings; there may be none."""
    for number, raw in enumerate(raw_lines(path, may_be_empty=True), 1):
        if len(raw) >= LONGEST_READ:
            raise fault(path, number, TOO_LONG)
        yield decoded(raw, path, number)


def decoded(raw: bytes, path: Path, number: int, *, cut: bool = False) -> str:
    """A line without its ending, or a fault; one that was cut may end inside a character."""
    at = raw.find(0)
    if at < 0:
        try:
            return _bare(codecs.utf_8_decode(raw, "strict", not cut)[0], number)
        except UnicodeDecodeError as error:
            at = error.start
    if number == 1 and (what := _other_than_text(raw)):
        raise NotText(str(fault(path, 1, what)))
    raise fault(path, number, _undecodable(raw, at))


def readable(raw: bytes, number: int) -> tuple[str, str]:
    """A line as far as it can be read, and why it cannot be; NUL is a sign like others here."""
    if len(raw) >= LONGEST_READ:
        return f"{_bare(raw[:SHOWN].decode(errors='ignore'), number)}…", TOO_LONG
    try:
        return _bare(raw.decode(), number), ""
    except UnicodeDecodeError as error:
        why = (number == 1 and _other_than_text(raw)) or _undecodable(raw, error.start)
        return _bare(raw.decode(errors="replace"), number), why


def _bare(text: str, number: int) -> str:
    text = text.removeprefix("\ufeff") if number == 1 else text
    return text.removesuffix("\n").removesuffix("\r")


def _other_than_text(raw: bytes) -> str:
    """What a file with this first line is, if it is no text."""
    for magic, what in MAGIC.items():
        if raw.startswith(magic):
            return f"this looks like {what}"
    wide = raw.count(0) > len(raw) // 4
    return "this looks like UTF-16; convert it with `iconv -f UTF-16LE -t UTF-8`" if wide else ""


def _undecodable(raw: bytes, at: int) -> str:
    """Why the byte at this place of a line is no text, and what would do."""
    if raw[at] == 0:
        return f"byte {at + 1} of the line is NUL; give a text file, or remove the byte"
    remedy = "convert the file, perhaps with `iconv -f WINDOWS-1252 -t UTF-8`"
    return f"byte {at + 1} of the line (0x{raw[at]:02x}) is not UTF-8; {remedy}"


def raw_lines(path: Path, *, may_be_empty: bool = False) -> Iterator[bytes]:
    """The lines of a file, split at \\n only; of an over-long one, the beginning."""
    number = 0
    try:
        before = path.stat()
        if not stat.S_ISREG(before.st_mode):
            what = "a folder" if stat.S_ISDIR(before.st_mode) else "not a regular file"
            raise fault(path, 0, f"is {what}; give a file that can be read more than once")
        with OPEN.get(path.suffix.lower(), open)(path, "rb") as file:
            for line in cut_lines(file):
                number += 1
                yield line
        after = path.stat()
    except FileNotFoundError:
        raise fault(path, 0, f"there is no such file; {nearest(path)}") from None
    except signs_of_damage() as error:
        reason = f"broken {path.suffix} data ({error}); fetch or compress the file again"
        raise fault(path, number + 1, reason) from None
    except OSError as error:
        reason = f"cannot be read ({error.strerror}); see its permissions and its disk"
        raise fault(path, 0, reason) from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise fault(path, number, "changed while it was read; begin again when it is whole")
    if not number and not may_be_empty:
        raise fault(path, 0, "is empty; give a file with one sentence on each line")


def cut_lines(stream: IO[bytes] | BytesIO) -> Iterator[bytes]:
    """The lines of a stream, split at \\n only; of an over-long one, the beginning."""
    while line := stream.readline(LONGEST_READ):
        rest = line
        while len(rest) == LONGEST_READ and not rest.endswith(b"\n"):
            rest = stream.readline(LONGEST_READ)
        yield line


def nearest(path: Path) -> str:
    """What to do about a path that leads nowhere: take a neighbour of nearly its name, or look."""
    near = get_close_matches(path.name, _neighbours(path), n=1)
    return f"did you mean {said(near[0])}?" if near else "see how its path is written"


def _neighbours(path: Path) -> list[str]:
    return os.listdir(path.parent) if os.access(path.parent, os.R_OK | os.X_OK) else []
