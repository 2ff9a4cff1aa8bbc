"""The lines of a text file, plain or packed, split at newlines only."""

import codecs
import os
import stat
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from dhyan.faults import Fault
from dhyan.text.packing import OPEN, signs_of_damage

LONGEST_READ = 2**20  # bytes of a line that are read; the rest is skipped, so memory stays flat

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


def fault(path: Path, line: int, reason: str) -> Fault:
    """A fault at `file:line`, or of the whole file where line is 0."""
    return Fault(f"{said(path)}{f':{line}' if line else ''}: {reason}")


class NotText(Fault):
    """A file that is no UTF-8 text at all, so that its other lines need not be looked at."""


def undecodable(raw: bytes, at: int, path: Path, number: int) -> Fault:
    """Why the byte at this place of a line is no text, and what would do."""
    for magic, what in MAGIC.items():
        if number == 1 and raw.startswith(magic):
            return NotText(str(fault(path, 1, f"this looks like {what}")))
    if number == 1 and raw.count(0) > len(raw) // 4:
        reason = "this looks like UTF-16; convert it with `iconv -f UTF-16LE -t UTF-8`"
        return NotText(str(fault(path, number, reason)))
    if raw[at] == 0:
        reason = f"byte {at + 1} of the line is NUL; give a text file, or remove the byte"
        return fault(path, number, reason)
    remedy = "convert the file, perhaps with `iconv -f WINDOWS-1252 -t UTF-8`"
    reason = f"byte {at + 1} of the line (0x{raw[at]:02x}) is not UTF-8; {remedy}"
    return fault(path, number, reason)


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a text without their endings; there may be none."""
    for number, raw in enumerate(raw_lines(path, may_be_empty=True), 1):
        if len(raw) >= LONGEST_READ:
            raise fault(path, number, f"a line of {LONGEST_READ:,} bytes or more; split it")
        yield decoded(raw, path, number)


def decoded(raw: bytes, path: Path, number: int, *, cut: bool = False) -> str:
    """A line without its ending, or a fault; one that was cut may end inside a character."""
    at = raw.find(0)
    if at < 0:
        try:
            text, _ = codecs.utf_8_decode(raw, "strict", not cut)
            text = text.removeprefix("\ufeff") if number == 1 else text
            return text.removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            at = error.start
    raise undecodable(raw, at, path, number)


def raw_lines(path: Path, *, may_be_empty: bool = False) -> Iterator[bytes]:
    """The lines of a file, split at \\n only; of an over-long one, the beginning."""
    number = 0
    try:
        before = path.stat()
        if not stat.S_ISREG(before.st_mode):
            what = "a folder" if stat.S_ISDIR(before.st_mode) else "not a regular file"
            raise fault(path, 0, f"is {what}; give a file that can be read more than once")
        with OPEN.get(path.suffix.lower(), open)(path, "rb") as file:
            while line := file.readline(LONGEST_READ):
                number += 1
                rest = line
                while len(rest) == LONGEST_READ and not rest.endswith(b"\n"):
                    rest = file.readline(LONGEST_READ)
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


def nearest(path: Path) -> str:
    """What to do about a path that leads nowhere: take a neighbour of nearly its name, or look."""
    near = get_close_matches(path.name, _neighbours(path), n=1)
    return f"did you mean {said(near[0])}?" if near else "see how its path is written"


def _neighbours(path: Path) -> list[str]:
    return os.listdir(path.parent) if os.access(path.parent, os.R_OK | os.X_OK) else []
