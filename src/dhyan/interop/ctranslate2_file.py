"""Read model.bin of CTranslate2, of unknown origin: a name, a revision, variables and aliases.

The format is that of `ModelSpec.save` in CTranslate2: little-endian numbers, texts with their
length before them and a zero byte at their end.
"""

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import IO

import torch
from torch import Tensor

from dhyan.errors import UserError
from dhyan.safe_io.json_toml import safe_repr

VERSIONS = range(2, 7)
WITH_ALIASES, WITH_DTYPES = 3, 4  # versions from which on there are such
MAX_VARIABLES = 20_000
MAX_NAME = 1000
MAX_AXES = 8
DTYPES = (
    torch.float32, torch.int8, torch.int16, torch.int32, torch.float16, torch.bfloat16,
)  # fmt: skip
DTYPES_BY_SIZE = {4: torch.float32, 1: torch.int8, 2: torch.int16}  # of versions without dtypes
SCALE = "_scale"


@dataclass(frozen=True)
class ModelFile:
    """The name of the architecture, its revision, and the variables by name."""

    architecture: str
    revision: int
    variables: dict[str, Tensor]

    @classmethod
    def from_bytes(cls, data: bytes) -> "ModelFile":
        """All of a file; its end is the end of the last variable or alias."""
        reader = _Reader(data)
        version = check_version(io.BytesIO(reader.bytes(4)))
        architecture, revision = reader.text(), reader.number(4)
        variables: dict[str, Tensor] = {}
        for _ in range(reader.count()):
            name = reader.text()
            if name in variables:
                raise UserError(f"its variable {safe_repr(name)} comes twice")
            variables[name] = reader.tensor(name, with_dtype=version >= WITH_DTYPES)
        for _ in range(reader.count() if version >= WITH_ALIASES else 0):
            alias, name = reader.text(), reader.text()
            if name not in variables or alias in variables:
                raise UserError(f"its alias {safe_repr(alias)} has no variable, or is one")
            variables[alias] = variables[name]
            if name + SCALE in variables:
                variables[alias + SCALE] = variables[name + SCALE]
        if reader.at != len(data):
            raise UserError(f"its variables end at byte {reader.at:,} of {len(data):,}")
        return cls(architecture, revision, variables)

    def to_bytes(self, aliases: Mapping[str, str]) -> bytes:
        """The file in the last version; a variable that is an alias of another is stored once."""
        stored = {name: self.variables[name] for name in sorted(self.variables.keys() - aliases)}
        parts = [
            struct.pack("<I", VERSIONS[-1]), _text(self.architecture),
            struct.pack("<II", self.revision, len(stored)),
        ]  # fmt: skip
        for name, tensor in stored.items():
            data = tensor.detach().cpu().contiguous()
            parts += [
                _text(name), struct.pack(f"<B{data.dim()}I", data.dim(), *data.shape),
                struct.pack("<BI", DTYPES.index(data.dtype), data.numel() * data.itemsize),
                data.numpy().tobytes(),
            ]  # fmt: skip
        parts.append(struct.pack("<I", len(aliases)))
        parts += [_text(text) for alias in sorted(aliases.items()) for text in alias]
        return b"".join(parts)

    def take(self, name: str) -> Tensor:
        """A weight in float32, removed from the variables; quantized ones have a scale beside them."""
        if name not in self.variables:
            raise UserError(f"it has no {name!r}")
        tensor = self.variables.pop(name)
        scale = self.variables.pop(name + SCALE, None)
        if tensor.is_floating_point():
            return tensor.float()
        if scale is None or scale.numel() not in (1, len(tensor)) or not bool(scale.all()):
            raise UserError(f"{name!r} is of {tensor.dtype} without a scale for each row")
        return tensor.float() / scale.float().view(-1, *[1] * (tensor.dim() - 1))

    def take_number(self, name: str, default: float) -> float:
        """A setting: a variable of one number, removed from the variables."""
        if name not in self.variables:
            return default
        tensor = self.variables.pop(name)
        if tensor.numel() != 1:
            raise UserError(f"{name!r} is not one number")
        return float(tensor.item())


def _text(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode("ascii") + b"\0"


def check_version(file: IO[bytes], size: int = 0) -> int:
    """The version, with which a file begins."""
    version = int.from_bytes(file.read(4), "little")
    if version not in VERSIONS:
        raise UserError(
            f"its version is {version}; versions {VERSIONS[0]} to {VERSIONS[-1]} are read"
        )
    return version


class _Reader:
    """Reads numbers, texts and tensors one after another; never past the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def bytes(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise UserError("it is not complete: a variable goes beyond its end")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), "little")

    def count(self) -> int:
        count = self.number(4)
        if count > MAX_VARIABLES:
            raise UserError(f"it lists {count:,} variables, more than the {MAX_VARIABLES:,} it may")
        return count

    def text(self) -> str:
        length = self.number(2)
        if not 1 <= length <= MAX_NAME:
            raise UserError("it is no model of CTranslate2: a name has an impossible length")
        try:
            return self.bytes(length).removesuffix(b"\0").decode("ascii")
        except UnicodeDecodeError:
            raise UserError("it is no model of CTranslate2: a name is not in ASCII") from None

    def tensor(self, name: str, *, with_dtype: bool) -> Tensor:
        axes = self.number(1)
        if axes > MAX_AXES:
            raise UserError(f"its variable {safe_repr(name)} has {axes} axes")
        shape = [self.number(4) for _ in range(axes)]
        if with_dtype:
            dtype = DTYPES[kind] if (kind := self.number(1)) < len(DTYPES) else None
            size = self.number(4)
        else:
            item_size = self.number(1)
            dtype, size = DTYPES_BY_SIZE.get(item_size), item_size * self.number(4)
        if dtype is None or not size or size != prod(shape) * dtype.itemsize:
            raise UserError(
                f"its variable {safe_repr(name)} of shape {safe_repr(tuple(shape))} has "
                f"{size:,} bytes, or an unknown type"
            )
        return torch.frombuffer(bytearray(self.bytes(size)), dtype=dtype).view(shape)
