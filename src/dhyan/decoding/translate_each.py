"""Translate many lines, so that one that cannot be translated costs no other its translation."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from dhyan.decoding.prepare_requests import TooLong
from dhyan.errors import UserError

T = TypeVar("T")


def translate_each(
    translate: Callable[[list[int]], Sequence[T]],
    indices: Sequence[int],
    error_of_line: Callable[[Exception], UserError],
) -> list[T | UserError]:
    """A result for each index, or the error its line caused.

    `translate` does several lines at once. Where that fails, the lines that are too long are left
    out, or both halves are tried; `error_of_line` raises what concerns all lines, or is a bug.
    """
    lines = list(indices)
    try:
        return list(translate(lines)) if lines else []
    except TooLong as error:
        failures = {lines[failure.index]: failure for failure in (error, *error.others)}
        shorter = [line for line in lines if line not in failures]
        results = dict(zip(shorter, translate_each(translate, shorter, error_of_line), strict=True))
        return [failures[line] if line in failures else results[line] for line in lines]
    except (UserError, MemoryError, RuntimeError) as error:
        failure = error_of_line(error)
    if len(lines) == 1:
        return [failure]
    half = len(lines) // 2
    return [
        *translate_each(translate, lines[:half], error_of_line),
        *translate_each(translate, lines[half:], error_of_line),
    ]
