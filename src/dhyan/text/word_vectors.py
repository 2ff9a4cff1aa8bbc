"""Pretrained word vectors: word2vec as text or binary, and GloVe, read as a stream."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from dhyan.errors import UserError
from dhyan.text.compressed_files import OPENERS, decompression_errors
from dhyan.text.normalize import normalize

MAX_LINE_BYTES = 2**20  # bytes
MAX_WIDTH = 2**16  # numbers of a vector
CHUNK = 2**16  # bytes of a binary file read at a time
_FETCH_AGAIN = "fetch the file again"
_CHECK_DISK = "check its permissions and its disk"
_NAME_BINARY = "if this is word2vec's binary, end its name in .bin"
_NAME_TEXT = "if these are vectors as text, or fastText's, give a file whose name ends in .vec"
_FRACTION = re.compile(rb"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")

Entry = tuple[int, bytes, bytes]  # its number in the file, its word, its vector as it stands


@dataclass(frozen=True)
class WordVectors:
    """Word vectors, a row for each word; `lowered` words have the vector of their lower case."""

    words: tuple[str, ...]
    table: Float32[np.ndarray, "V D"]
    lowered: frozenset[str]

    @property
    def width(self) -> int:
        """The number of dimensions."""
        return self.table.shape[1]


def read_vectors(path: str | Path, words: Collection[str]) -> WordVectors:
    """Read the vectors of these words, in their order: of the word itself, else of its lower case.

    A file whose name ends in `.bin` is word2vec's binary, any other is text with or without a
    header; either may be compressed as `.gz`, `.xz` or `.zst`. Words are compared in their normal form,
    and the first of a file's equal words counts. Only the vectors of the given words are parsed.
    """
    path = Path(path)
    spellings = {*words, *(word.lower() for word in words)}
    rows_by_word: dict[str, Float32[np.ndarray, " D"]] = {}
    file = _Reader(path)
    for number, raw, vector in file.entries():
        word = _decode_word(raw)
        if word in spellings and word not in rows_by_word:
            rows_by_word[word] = file.numbers(number, vector)
    lowered = {w for w in words if w not in rows_by_word and w.lower() in rows_by_word}
    words = tuple(w for w in dict.fromkeys(words) if w in rows_by_word or w in lowered)
    rows = [rows_by_word[w.lower() if w in lowered else w] for w in words]
    table = np.array(rows, np.float32).reshape(len(rows), file.width)
    return WordVectors(words, table, frozenset(lowered))


def read_most_frequent(path: str | Path, most: int) -> WordVectors:
    """Read the vectors of the first words of a file, which are the most frequent."""
    file = _Reader(Path(path))
    rows_by_word: dict[str, Float32[np.ndarray, " D"]] = {}
    for number, raw, vector in islice(file.entries(), most):
        rows_by_word.setdefault(_decode_word(raw), file.numbers(number, vector))
    table = np.array([*rows_by_word.values()], np.float32).reshape(len(rows_by_word), file.width)
    return WordVectors(tuple(rows_by_word), table, frozenset())


def vector_width(path: str | Path) -> int:
    """The number of dimensions of the vectors in a file, by its first lines."""
    file = _Reader(Path(path))
    next(file.entries())
    return file.width


class _Reader:
    """Reader of a vector file; the width is known after the first entry."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.width = 0
        packed = path.suffix.lower() in OPENERS
        self.binary = (path.with_suffix("") if packed else path).suffix.lower() == ".bin"

    def entries(self) -> Iterator[Entry]:
        """Entries as bytes, with the line number, or the index in a binary file."""
        try:
            with OPENERS.get(self.path.suffix.lower(), open)(self.path, "rb") as file:
                yield from self._binary(file) if self.binary else self._text(file)
        except FileNotFoundError:
            raise self.error_at(
                0, "there is no such file; check the spelling of the path"
            ) from None
        except decompression_errors() as error:
            reason = f"broken {self.path.suffix} data ({error}); {_FETCH_AGAIN}"
            raise self.error_at(0, reason) from None
        except OSError as error:
            raise self.error_at(0, f"cannot be read ({error.strerror}); {_CHECK_DISK}") from None

    def _text(self, file: BufferedIOBase) -> Iterator[Entry]:
        """Entries of a text file: a word, which may contain spaces, and its numbers on each line."""
        number, header_count = 0, 0
        while line := file.readline(MAX_LINE_BYTES):
            number += 1
            if len(line) == MAX_LINE_BYTES:
                raise self.error_at(
                    number, f"a line of {MAX_LINE_BYTES:,} bytes or more; {_NAME_BINARY}"
                )
            fields = line.rstrip().split(b" ")
            if number == 1 and len(fields) == 2:
                header_count = self._header(line)
            else:
                self.width = self.width or _numbers_at_the_end(fields)
                yield number, *self._split_line(fields, number)
        if not self.width or number < 1 + bool(header_count):
            raise self.error_at(0, f"holds no vectors; {_FETCH_AGAIN}")
        if header_count and number != header_count + 1:
            reason = f"{number - 1:,} words, but its header says {header_count:,}; {_FETCH_AGAIN}"
            raise self.error_at(0, reason)

    def _split_line(self, fields: list[bytes], number: int) -> tuple[bytes, bytes]:
        """The word and the numbers of a line."""
        count = len(fields) - 1
        if count > self.width and _FRACTION.fullmatch(fields[-self.width - 1]):
            count = _numbers_at_the_end(fields)
        elif count >= self.width > 0:
            return b" ".join(fields[: -self.width]), b" ".join(fields[-self.width :])
        reason = f"{count} numbers, expected {self.width}" if self.width else "ends in no number"
        raise self.error_at(number, f"{reason}; {_NAME_BINARY if number <= 2 else _FETCH_AGAIN}")

    def _binary(self, file: BufferedIOBase) -> Iterator[Entry]:
        """Entries of a binary file: word, space, numbers; the first line has the two sizes."""
        header_count = self._header(file.readline(100))
        buffer, at, size = b"", 0, 4 * self.width
        for number in range(1, header_count + 1):
            while (end := buffer.find(b" ", at) + 1) == 0 or len(buffer) < end + size:
                more = file.read(CHUNK)
                if not more:
                    reason = f"the file ends here, but should have {header_count:,} words"
                    raise self.error_at(number, f"{reason}; fetch it again")
                buffer, at = buffer[at:] + more, 0
                if not end and len(buffer) > MAX_LINE_BYTES:
                    raise self.error_at(number, "no word ends here; this is not word2vec's binary")
            yield number, buffer[at : end - 1].removeprefix(b"\n"), buffer[end : end + size]
            at = end + size
        if (buffer[at:] + file.read(CHUNK)).strip(b"\n"):
            raise self.error_at(
                0, f"more than the {header_count:,} words of its header; {_FETCH_AGAIN}"
            )

    def _header(self, line: bytes) -> int:
        """The number of words in a header line; also sets the width."""
        sizes = line.split()
        if len(sizes) != 2 or not all(size.isdigit() for size in sizes):
            reason = "its first line does not say how many words and numbers there are"
            raise self.error_at(0 if self.binary else 1, f"{reason}; {_NAME_TEXT}")
        count, self.width = map(int, sizes)
        if not (count and 0 < self.width <= MAX_WIDTH):
            reason = (
                f"its first line says {count:,} words of {self.width:,} numbers; {_FETCH_AGAIN}"
            )
            raise self.error_at(0 if self.binary else 1, reason)
        return count

    def numbers(self, number: int, vector: bytes) -> Float32[np.ndarray, " D"]:
        """The numbers of a vector."""
        try:
            values = () if self.binary else [float(value) for value in vector.split(b" ")]
        except ValueError as error:
            raise self.error_at(number, f"{error}; {_FETCH_AGAIN}") from None
        row = np.frombuffer(vector, "<f4") if self.binary else np.array(values, np.float32)
        if not np.isfinite(row).all():
            raise self.error_at(number, f"a number that is not finite; {_FETCH_AGAIN}")
        return row

    def error_at(self, number: int, reason: str) -> UserError:
        """An error at a line, at a word of a binary file, or of the whole file where number is 0."""
        location = f" (word {number:,})" if self.binary else f":{number}"
        return UserError(f"{self.path}{location if number else ''}: {reason}")


def _numbers_at_the_end(fields: list[bytes]) -> int:
    """The number of numbers at the end of a line; the first field is always the word."""
    count = 0
    while count < len(fields) - 1 and _is_number(fields[-count - 1]):
        count += 1
    return count


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _decode_word(raw: bytes) -> str:
    """A word in its normal form; bytes that are no text match no word."""
    word = raw.decode("utf-8", "replace")
    return word if word.isascii() else normalize(word)
