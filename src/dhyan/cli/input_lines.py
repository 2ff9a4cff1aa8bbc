"""Text files and stdin that commands read: sentences, prefixes, glossaries, lists of terms."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dhyan.errors import UserError


@dataclass(frozen=True)
class Line:
    """A line of input, and the error if it is not valid text."""

    text: str
    error: UserError | None = None


def read_input(file: Path | None) -> Iterator[Line]:
    """Every line of a file or of stdin; lines that are not valid text come with their error."""
    from dhyan.data.read_text import decode_leniently, read_raw_lines, split_lines

    if file:
        raws = read_raw_lines(file, may_be_empty=True)
    elif sys.stdin is None:
        raise UserError("stdin is closed: name a FILE to read")
    else:
        raws = split_lines(sys.stdin.buffer)
    for number, raw in enumerate(raws, start=1):
        text, problem = decode_leniently(raw, number)
        yield Line(text, UserError(problem) if problem else None)


def in_chunks(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    """Chunks of `size` lines; the lines before an error come before it is raised."""
    chunk: list[Line] = []
    try:
        for line in lines:
            chunk.append(line)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except UserError:
        yield chunk
        raise
    yield chunk


def count_lines(file: Path) -> int:
    """The number of lines of a file, valid text or not."""
    from dhyan.data.read_text import read_raw_lines

    return sum(1 for _ in read_raw_lines(file, may_be_empty=True))


def read_lines(file: Path) -> Iterator[str]:
    """The lines of a text file, compressed or not."""
    from dhyan.data.read_text import read_lines

    return read_lines(file)


def read_glossary(file: Path) -> dict[str, str]:
    """Source and target terms, a tab-separated pair per line; empty lines are skipped."""
    terms, targets = dict[str, str](), dict[str, str]()
    for number, line in enumerate(read_lines(file), start=1):
        parts = [part.strip() for part in line.split("\t")]
        if not any(parts):
            continue
        if len(parts) != 2 or not all(parts):
            raise UserError(f"{file}:{number}: a source term, a tab, a target term; found {line!r}")
        if targets.setdefault(parts[0].casefold(), parts[1]) != parts[1]:
            raise UserError(f"{file}:{number}: {parts[0]!r} has another target term further up")
        terms[parts[0]] = parts[1]
    return terms


def read_terms(file: Path) -> list[str]:
    """Terms, one per line; empty lines are skipped."""
    return [line.strip() for line in read_lines(file) if line.strip()]


def find_term(file: Path, term: str) -> str:
    """File and line number of the first line with a term, alone or in a pair."""
    for number, line in enumerate(read_lines(file), start=1):
        if term in (part.strip() for part in line.split("\t")):
            return f"{file}:{number}"
    return str(file)
