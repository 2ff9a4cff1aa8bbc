"""What a reader hands to a lesson, looked at before anything is computed."""

import json
from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError

Matrix = Sequence[Sequence[int | float]] | Tensor


def words_of(sentence: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a sentence, which are what spaces separate."""
    words = tuple(sentence.split()) if isinstance(sentence, str) else tuple(sentence)
    if not words:
        raise UserError("the sentence is empty: give it at least one word")
    return words


def matrix(
    name: str, given: object, *, rows: int | None = None, columns: int | None = None, of: str = ""
) -> Float64[Tensor, "R C"]:
    """Numbers in rows of one length; `of` says what there must be a row for."""
    try:
        found = torch.as_tensor(given, dtype=torch.float64)
    except (TypeError, ValueError):
        raise UserError(
            f"{name}: not numbers in rows of one length, such as [[1, 0], [0, 1]]"
        ) from None
    if found.ndim != 2 or not found.numel():
        raise UserError(f"{name}: not a matrix; write its rows, such as [[1, 0], [0, 1]]")
    if not found.isfinite().all():
        raise UserError(f"{name}: has a number that is not finite")
    if rows is not None and len(found) != rows:
        raise UserError(f"{name}: has {len(found)} rows, but {of} are {rows}; give {rows} rows")
    if columns is not None and found.shape[1] != columns:
        raise UserError(f"{name}: has {found.shape[1]} columns; give {columns}")
    return found


def row(name: str, given: object, *, count: int | None = None) -> Float64[Tensor, " N"]:
    """The numbers of a list, which are as many as wanted."""
    try:
        found = torch.as_tensor(given, dtype=torch.float64)
    except (TypeError, ValueError):
        found = torch.zeros(())
    if found.ndim != 1 or not found.numel():
        raise UserError(f"{name}: not numbers in one row, such as [1, 0]")
    if not found.isfinite().all():
        raise UserError(f"{name}: has a number that is not finite")
    if count is not None and len(found) != count:
        raise UserError(f"{name}: the numbers are {len(found)}; give {count}")
    return found


def read(text: str) -> object:
    """What was written on the command line: JSON, or the words themselves."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def whole(name: str, given: object, *, least: int = 1) -> int:
    """A whole number that a lesson counts with."""
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise UserError(f"{name} is {given!r}: give a whole number of at least {least}")
    return given


def known_rate(given: object) -> float:
    """A learning rate."""
    if not isinstance(given, int | float) or not given > 0:
        raise UserError(f"learning_rate is {given!r}: give a number above 0")
    return float(given)


def wholes(name: str, given: Sequence[int]) -> tuple[int, ...]:
    """At least one whole number, each 1 or more."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise UserError(f"{name}: give at least one whole number in a list, such as [3, 300]")
    return tuple(whole(name, one) for one in given)
