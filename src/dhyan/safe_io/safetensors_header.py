"""Read and check the header of a safetensors file before any tensor is read."""

from dataclasses import dataclass
from math import prod
from typing import IO, Any

from dhyan.errors import UserError
from dhyan.safe_io.json_toml import read_json, safe_repr

MAX_HEADER_BYTES = 4 * 2**20
MAX_TENSORS = 20_000
MAX_AXES = 8
MAX_COUNTS = {b"{": 2 * MAX_TENSORS, b"[": 4 * MAX_TENSORS, b",": 12 * MAX_TENSORS}
METADATA = "__metadata__"
DTYPE_BYTES = {
    **dict.fromkeys(("BOOL", "U8", "I8"), 1),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 2),
    **dict.fromkeys(("F32", "I32", "U32"), 4),
    **dict.fromkeys(("F64", "I64", "U64"), 8),
}


@dataclass(frozen=True)
class TensorEntry:
    """A tensor as the header lists it; its bytes are `start` to `stop` after the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Header:
    """The tensors of a file by name, and the byte where their data start."""

    tensors: dict[str, TensorEntry]
    data_start: int


class InvalidHeader(UserError):
    """A header that contradicts itself or its file, or exceeds the limits."""


def read_header(file: IO[bytes], size: int) -> Header:
    """The header of a file of `size` bytes: its length in eight bytes, then JSON.

    The tensors must fill the rest of the file, each with as many bytes as its shape says, without
    gaps or overlaps.
    """
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > size - 8:
        raise InvalidHeader(f"its header would end at byte {8 + length:,}, the file at {size:,}")
    if length > MAX_HEADER_BYTES:
        raise InvalidHeader(
            f"its header has {length:,} bytes, more than the {MAX_HEADER_BYTES:,} it may"
        )
    tensors = _tensors(_parse(file.read(length)))
    _check_offsets(tensors, size - 8 - length)
    return Header(tensors, 8 + length)


def _parse(data: bytes) -> dict[str, Any]:
    if data.count(b'"data_offsets"') > MAX_TENSORS:
        raise InvalidHeader(f"it lists more than {MAX_TENSORS:,} tensors")
    for character, limit in MAX_COUNTS.items():
        if data.count(character) > limit:
            raise InvalidHeader(f"its header has more than {limit:,} {character.decode()}")
    try:
        table = read_json(data)
    except ValueError as error:
        raise InvalidHeader(f"its header is not valid JSON: {error}") from None
    if not isinstance(table, dict):
        raise InvalidHeader("its header is not a table of tensors")
    return table


def _tensors(table: dict[str, Any]) -> dict[str, TensorEntry]:
    metadata = table.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise InvalidHeader(f"its {METADATA} is not a table of strings")
    if len(table) > MAX_TENSORS:
        raise InvalidHeader(
            f"it lists {len(table):,} tensors, more than the {MAX_TENSORS:,} it may"
        )
    return {name: _entry(name, entry) for name, entry in table.items()}


def _entry(name: str, entry: Any) -> TensorEntry:
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [start, stop], **rest}:
            valid = not rest and all(map(_is_count, (*shape, start, stop)))
        case _:
            valid = False
    if not valid or len(shape) > MAX_AXES:
        raise InvalidHeader(
            f"its tensor {safe_repr(name)} is not described by dtype, shape and data_offsets"
        )
    if dtype not in DTYPE_BYTES:
        raise InvalidHeader(
            f"its tensor {safe_repr(name)} has the unknown dtype {safe_repr(dtype)}"
        )
    if stop - start != prod(shape) * DTYPE_BYTES[dtype]:
        raise InvalidHeader(
            f"its tensor {safe_repr(name)} of shape {safe_repr(tuple(shape))} does not fill its "
            f"{stop - start:,} bytes"
        )
    return TensorEntry(dtype, tuple(shape), start, stop)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _check_offsets(tensors: dict[str, TensorEntry], size: int) -> None:
    """Refuse tensors that overlap, or leave bytes unused."""
    end = 0
    for name, entry in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].stop)):
        if entry.start != end:
            problem = "overlaps another" if entry.start < end else "leaves bytes unused before it"
            raise InvalidHeader(f"its tensor {safe_repr(name)} {problem}")
        end = entry.stop
    if end != size:
        raise InvalidHeader(f"its tensors end at byte {end:,} of {size:,}")
