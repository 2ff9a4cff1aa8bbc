"""A folder in another toolkit's format, of unknown origin: bounded files and checked settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dhyan.errors import UserError
from dhyan.safe_io.bounded_files import (
    UnsafeFile,
    file_size,
    is_sparse,
    open_file,
    read_file,
)
from dhyan.safe_io.json_toml import read_json, safe_repr

MAX_SETTINGS_BYTES = 2**20
MAX_VOCABULARY_BYTES = 48 * 2**20
MAX_WEIGHTS_BYTES = 2**34
LARGEST = 1_000_000  # of a size


@dataclass(frozen=True)
class ForeignFolder:
    """The files of a folder; its links are not followed."""

    path: Path

    def has(self, name: str) -> bool:
        """Whether there is something of this name."""
        return (self.path / name).exists()

    def read(self, name: str, *, max_bytes: int) -> bytes:
        """The bytes of a file; an error that names it if it cannot be read."""
        try:
            return read_file(self.path / name, max_bytes=max_bytes)
        except OSError as error:
            raise UserError(f"{self.path / name}: cannot be read: {error.strerror}") from None

    def read_weights(self, name: str, check_start: Callable[[IO[bytes], int], object]) -> bytes:
        """The bytes of a file of weights, after a check of its start, which gets the file's size."""
        path = self.path / name
        try:
            with open_file(path, max_bytes=MAX_WEIGHTS_BYTES) as file:
                size = file_size(path)
                if is_sparse(path):
                    raise UserError(f"{path}: is mostly a hole where {size:,} bytes should be")
                check_start(file, size)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        except UnsafeFile:
            raise
        except UserError as error:
            raise UserError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
        return self.read(name, max_bytes=MAX_WEIGHTS_BYTES)

    def settings(self, name: str) -> "Settings":
        """The settings of a JSON file; none, if it is absent."""
        if not self.has(name):
            return Settings(self.path / name, {})
        return Settings(self.path / name, self._table(name, MAX_SETTINGS_BYTES))

    def ids(self, name: str) -> list[str]:
        """The tokens of a JSON table of ids, in the order of the ids."""
        table = self._table(name, MAX_VOCABULARY_BYTES)
        tokens: list[Any] = [None] * len(table)
        for token, id in table.items():
            if type(id) is not int or not 0 <= id < len(tokens) or tokens[id] is not None:
                raise UserError(
                    f"{self.path / name}: the id of {safe_repr(token)} is {safe_repr(id)}; ids must "
                    f"count from 0 to {len(tokens) - 1}, each once"
                )
            tokens[id] = token
        return tokens

    def lines(self, name: str) -> list[str]:
        """The tokens of a vocabulary: one a line, or a JSON list."""
        path, data = self.path / name, self.read(name, max_bytes=MAX_VOCABULARY_BYTES)
        try:
            text = data.decode("utf-8")
            tokens = read_json(text) if name.endswith(".json") else text.split("\n")
        except ValueError as error:
            raise UserError(f"{path}: cannot be read: {error}") from None
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise UserError(f"{path}: is not a list of tokens")
        while tokens and not tokens[-1]:
            tokens.pop()
        return [token.removesuffix("\r") for token in tokens]

    def _table(self, name: str, max_bytes: int) -> dict[str, Any]:
        data = self.read(name, max_bytes=max_bytes)
        try:
            table = read_json(data)
        except ValueError as error:
            raise UserError(f"{self.path / name}: is not valid JSON: {error}") from None
        if not isinstance(table, dict):
            raise UserError(f"{self.path / name}: is not a table of JSON")
        return table


@dataclass(frozen=True)
class Settings:
    """Settings of another toolkit; every error names the file and the key. `null` is not given."""

    path: Path
    table: Mapping[str, Any]

    def size(self, key: str, default: int | None = None) -> int:
        """A whole number above 0."""
        return self._whole(key, default, low=1)

    def id(self, key: str, default: int | None = None) -> int:
        """A whole number from 0."""
        return self._whole(key, default, low=0)

    def number(self, key: str, default: float) -> float:
        """A number from 0 on."""
        value = self._get(key, default)
        if type(value) not in (int, float) or not 0 <= value <= LARGEST:
            raise self.error(key, f"give a number from 0 to {LARGEST:,}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._get(key, default)
        if type(value) is not bool:
            raise self.error(key, "give true or false")
        return value

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self.error(key, "give a text")
        return value

    def choice(self, key: str, choices: Mapping[str, str], default: str = "") -> str:
        """What a text means."""
        text = self.text(key, default)
        if text not in choices:
            raise self.error(key, f"what can be imported is {', '.join(choices)}")
        return choices[text]

    def error(self, key: str, remedy: str) -> UserError:
        """An error that names the file, the key and the value."""
        return UserError(f"{self.path}: {key} is {safe_repr(self.table.get(key))}; {remedy}")

    def _whole(self, key: str, default: int | None, *, low: int) -> int:
        value = self._get(key, default)
        if type(value) is not int or not low <= value <= LARGEST:
            raise self.error(key, f"give a whole number from {low} to {LARGEST:,}")
        return value

    def _get(self, key: str, default: Any) -> Any:
        value = self.table.get(key)
        return default if value is None else value
