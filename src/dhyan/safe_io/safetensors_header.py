"""What a safetensors file says it holds, read before anything else is made of it."""

from dataclasses import dataclass
from math import prod
from typing import IO, Any

from dhyan.errors import UserError
from dhyan.safe_io.json_toml import read_json, safe_repr

LONGEST_HEADER = 4 * 2**20
MOST_TENSORS = 20_000
MOST_AXES = 8
MOST_SIGNS = {b"{": 2 * MOST_TENSORS, b"[": 4 * MOST_TENSORS, b",": 12 * MOST_TENSORS}
METADATA = "__metadata__"
BYTES = {
    **dict.fromkeys(("BOOL", "U8", "I8"), 1),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F64", "I64", "U64"), 8),
}


@dataclass(frozen=True)
class TensorEntry:
    """A tensor as a header lists it; its bytes lie from `start` to `stop` of what follows."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Header:
    """The tensors of a file by their names, and the place where the first of them begins."""

    tensors: dict[str, TensorEntry]
    begins: int


class InvalidHeader(UserError):
    """A header that contradicts itself, its file, or the bounds on all headers."""


def read_header(file: IO[bytes], size: int) -> Header:
    """The header of a file of so many bytes: its length in eight bytes, then JSON.

    Every tensor must have bytes of its own, as many as its shape says, with none left between
    them or after the last.
    """
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > size - 8:
        raise InvalidHeader(f"its header would end at byte {8 + length:,}, the file at {size:,}")
    if length > LONGEST_HEADER:
        raise InvalidHeader(
            f"its header has {length:,} bytes, more than the {LONGEST_HEADER:,} it may"
        )
    tensors = _tensors(_table(file.read(length)))
    _check_places(tensors, size - 8 - length)
    return Header(tensors, 8 + length)


def _table(data: bytes) -> dict[str, Any]:
    if data.count(b'"data_offsets"') > MOST_TENSORS:
        raise InvalidHeader(f"it lists more than {MOST_TENSORS:,} tensors")
    for sign, most in MOST_SIGNS.items():
        if data.count(sign) > most:
            raise InvalidHeader(f"its header has more than {most:,} {sign.decode()}")
    try:
        table = read_json(data)
    except ValueError as error:
        raise InvalidHeader(f"its header cannot be understood: {error}") from None
    if not isinstance(table, dict):
        raise InvalidHeader("its header is no table of tensors")
    return table


def _tensors(table: dict[str, Any]) -> dict[str, TensorEntry]:
    notes = table.pop(METADATA, {})
    if not isinstance(notes, dict) or not all(isinstance(note, str) for note in notes.values()):
        raise InvalidHeader(f"its {METADATA} is no table of texts")
    if len(table) > MOST_TENSORS:
        raise InvalidHeader(
            f"it lists {len(table):,} tensors, more than the {MOST_TENSORS:,} it may"
        )
    return {name: _listed(name, entry) for name, entry in table.items()}


def _listed(name: str, entry: Any) -> TensorEntry:
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [start, stop], **rest}:
            whole = not rest and all(map(_is_count, (*shape, start, stop)))
        case _:
            whole = False
    if not whole or len(shape) > MOST_AXES:
        raise InvalidHeader(
            f"its tensor {safe_repr(name)} is not described by type, shape and place"
        )
    if dtype not in BYTES:
        raise InvalidHeader(
            f"its tensor {safe_repr(name)} is of the unknown type {safe_repr(dtype)}"
        )
    if stop - start != prod(shape) * BYTES[dtype]:
        raise InvalidHeader(
            f"its tensor {safe_repr(name)} of shape {safe_repr(tuple(shape))} does not fill its "
            f"{stop - start:,} bytes"
        )
    return TensorEntry(dtype, tuple(shape), start, stop)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _check_places(tensors: dict[str, TensorEntry], room: int) -> None:
    """Refuse tensors that share bytes, or leave some out."""
    end = 0
    for name, one in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].stop)):
        if one.start != end:
            how = "shares bytes with another" if one.start < end else "leaves bytes unused before"
            raise InvalidHeader(f"its tensor {safe_repr(name)} {how}")
        end = one.stop
    if end != room:
        raise InvalidHeader(f"its tensors end at byte {end:,} of {room:,}")
