"""What a reader hands to a lesson, looked at before anything is computed."""

import json
from collections.abc import Sequence

from dhyan.errors import UserError
from dhyan.insight.parse_matrix import Matrix as Matrix
from dhyan.insight.parse_matrix import parse_matrix as matrix
from dhyan.insight.parse_matrix import parse_vector as row

__all__ = ["Matrix", "matrix", "row"]


def words_of(sentence: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a sentence, which are what spaces separate."""
    words = tuple(sentence.split()) if isinstance(sentence, str) else tuple(sentence)
    if not words:
        raise UserError("the sentence is empty: give it at least one word")
    return words


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
