"""Parses a lesson's arguments: words and numbers, with errors that name the argument."""

import json
from collections.abc import Sequence

from dhyan.errors import UserError


def parse_words(sentence: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a sentence, separated by spaces."""
    words = tuple(sentence.split()) if isinstance(sentence, str) else tuple(sentence)
    if not words:
        raise UserError("the sentence is empty: give it at least one word")
    return words


def parse_argument(text: str) -> object:
    """An argument of the command line: JSON, or else the string itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def parse_int(name: str, value: object, *, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"{name} is {value!r}: give a whole number of at least {least}")
    return value


def parse_learning_rate(value: object) -> float:
    """A learning rate above 0."""
    if not isinstance(value, int | float) or not value > 0:
        raise UserError(f"learning_rate is {value!r}: give a number above 0")
    return float(value)


def parse_ints(name: str, values: Sequence[int]) -> tuple[int, ...]:
    """At least one whole number, each 1 or more."""
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise UserError(f"{name}: give at least one whole number in a list, such as [3, 300]")
    return tuple(parse_int(name, value) for value in values)
