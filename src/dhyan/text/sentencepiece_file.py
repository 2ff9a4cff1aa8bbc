"""SentencePiece model files (.spm, .model): read as of unknown origin, and written."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Literal

from dhyan.errors import UserError
from dhyan.safe_io.bounded_files import read_file
from dhyan.safe_io.json_toml import safe_repr

MAX_FILE_BYTES = 32 * 2**20
MAX_FIELDS = 2_000_000
ALGORITHMS: dict[int, Literal["unigram", "bpe"]] = {1: "unigram", 2: "bpe"}
MODEL_TYPES = {3: "word", 4: "char"}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
TYPE_NAMES = {USER_DEFINED: "user-defined", UNUSED: "unused", BYTE: "byte"}
PIECES, TRAINER, NORMALIZER = 1, 2, 3  # fields of ModelProto
MODEL_TYPE, SUFFIX_SPACE = 3, 24  # of TrainerSpec
CHARSMAP, DUMMY_PREFIX, COLLAPSE_SPACES, ESCAPE_SPACES = 2, 3, 4, 5  # of NormalizerSpec

Value = int | bytes


@dataclass(frozen=True)
class SentencePieceFile:
    """What a SentencePiece model says: pieces with scores, and how a text is normalised.

    `pieces` are those a text can be written with; control symbols and the unknown one are left out.
    """

    algorithm: Literal["unigram", "bpe"]
    pieces: dict[str, float]
    charsmap: bytes
    dummy_prefix: bool
    collapse_spaces: bool

    @classmethod
    def read(cls, path: Path) -> "SentencePieceFile":
        """The model of a file; its errors name the file."""
        try:
            data = read_file(path, max_bytes=MAX_FILE_BYTES)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            return cls.from_bytes(data)
        except ValueError as error:
            raise UserError(
                f"{path}: not a SentencePiece model that can be used: {error}"
            ) from None

    @classmethod
    def from_bytes(cls, data: bytes) -> "SentencePieceFile":
        """The model in the bytes of a file."""
        pieces: dict[str, float] = {}
        trainer: dict[int, Value] = {}
        normalizer: dict[int, Value] = {}
        for field, value in _fields(data):
            if field == PIECES:
                _add_piece(pieces, dict(_fields(_bytes(value))))
            elif field == TRAINER:
                trainer = dict(_fields(_bytes(value)))
            elif field == NORMALIZER:
                normalizer = dict(_fields(_bytes(value)))
        kind = _integer(trainer.get(MODEL_TYPE, 1))
        if kind not in ALGORITHMS:
            raise UserError(f"its type is {MODEL_TYPES.get(kind, kind)}; unigram and bpe are read")
        if trainer.get(SUFFIX_SPACE):
            raise UserError("it treats spaces as suffixes (treat_whitespace_as_suffix)")
        if not normalizer.get(ESCAPE_SPACES, 1):
            raise UserError("it does not escape spaces (escape_whitespaces)")
        return cls(
            algorithm=ALGORITHMS[kind],
            pieces=pieces,
            charsmap=_bytes(normalizer.get(CHARSMAP, b"")),
            dummy_prefix=bool(normalizer.get(DUMMY_PREFIX, 1)),
            collapse_spaces=bool(normalizer.get(COLLAPSE_SPACES, 1)),
        )

    def to_bytes(self) -> bytes:
        """The file, as the library reads it: the unknown piece and two control symbols come first."""
        special = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
        entries = [(text, 0.0, kind) for text, kind in special]
        entries += [(text, score, NORMAL) for text, score in self.pieces.items()]
        kinds = {name: number for number, name in ALGORITHMS.items()}
        normalizer: dict[int, Value] = {
            CHARSMAP: self.charsmap,
            DUMMY_PREFIX: int(self.dummy_prefix),
            COLLAPSE_SPACES: int(self.collapse_spaces),
            ESCAPE_SPACES: 1,
        }
        fields = [(PIECES, _piece(*entry)) for entry in entries]
        fields.append((TRAINER, _field(MODEL_TYPE, kinds[self.algorithm])))
        fields.append((NORMALIZER, b"".join(_field(*item) for item in normalizer.items())))
        return b"".join(_field(*field) for field in fields)


def _piece(text: str, score: float, kind: int) -> bytes:
    """A piece as a message; its score is a float of four bytes."""
    return (
        _field(1, text.encode()) + bytes([2 << 3 | 5]) + struct.pack("<f", score) + _field(3, kind)
    )


def _field(number: int, value: Value) -> bytes:
    """A field of a protocol buffer."""
    if isinstance(value, int):
        return _written_varint(number << 3) + _written_varint(value)
    return _written_varint(number << 3 | 2) + _written_varint(len(value)) + value


def _written_varint(value: int) -> bytes:
    """A whole number, seven bits a byte."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _add_piece(pieces: dict[str, float], entry: dict[int, Value]) -> None:
    text, kind = _bytes(entry.get(1, b"")).decode("utf-8"), _integer(entry.get(3, NORMAL))
    if kind in TYPE_NAMES:
        raise UserError(f"its piece {safe_repr(text)} is {TYPE_NAMES[kind]}; only normal ones are")
    if kind in (UNKNOWN, CONTROL):
        return
    bits = _integer(entry.get(2, 0))
    [score] = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))
    if text in pieces or not text or not isfinite(score):
        raise UserError(
            f"its piece {safe_repr(text)} is empty, comes twice, or has no finite score"
        )
    pieces[text] = score


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """The fields of a protocol buffer: numbers, and the bytes of texts and messages."""
    at = 0
    for _ in range(MAX_FIELDS):
        if at == len(data):
            return
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield key >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, at = _varint(data, at)
            case 5:
                size = 4
            case wire_type:
                raise UserError(f"it is no protocol buffer: a field has the type {wire_type}")
        if at + size > len(data):
            raise UserError("it is no complete protocol buffer: a field goes beyond its end")
        content, at = data[at : at + size], at + size
        yield key >> 3, content if key & 7 == 2 else int.from_bytes(content, "little")
    raise UserError(f"it has more than {MAX_FIELDS:,} fields")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The whole number that begins at a byte, and the byte after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise UserError("it is no protocol buffer: a number does not end")


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise UserError("it is no SentencePiece model: a number stands where a text should")
    return value


def _integer(value: Value) -> int:
    if isinstance(value, bytes):
        raise UserError("it is no SentencePiece model: a text stands where a number should")
    return value
