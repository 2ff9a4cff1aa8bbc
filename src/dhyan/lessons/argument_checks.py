"""Checks a lesson's arguments against its type hints; the error says what to give instead.

Matrices are left to the lesson, which knows how many rows and columns they must have.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.lessons.result import LessonResult

LONGEST_REPR = 60  # characters of a value quoted in an error
TYPE_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
}

ELEMENT_NAMES = {str: "words", int: "whole numbers"}


def check_arguments(function: "Callable[..., LessonResult]") -> "Callable[..., LessonResult]":
    """The same lesson, which raises a UserError for an argument of the wrong type."""
    parameters, hints = signature(function), get_type_hints(function)

    @wraps(function)
    def checked_lesson(*args: Any, **kwargs: Any) -> "LessonResult":
        for name, value in parameters.bind(*args, **kwargs).arguments.items():
            if not matches(value, hints[name]):
                raise UserError(f"{name} is {_short_repr(value)}: give {describe(hints[name])}")
        return function(*args, **kwargs)

    return checked_lesson


def matches(value: object, hint: Any) -> bool:
    """Whether a value has a type; a type that cannot be checked matches anything."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(matches(value, part) for part in parts)
    if origin is Sequence:
        return _is_list(value, parts[0])
    if origin is Mapping:
        return isinstance(value, Mapping)
    if origin is not None:
        return callable(value)
    return _is_instance(value, hint)


def _is_instance(value: object, hint: Any) -> bool:
    """A bool is not a number, an int is also a float, and a path may be a string."""
    if isinstance(value, bool):
        return hint is bool
    wider = {float: (int, float), Path: (str, Path)}
    return not isinstance(hint, type) or isinstance(value, wider.get(hint, hint))


def _is_list(value: object, hint: Any) -> bool:
    if _holds_numbers(hint):
        return not isinstance(value, str | int | float | Mapping)
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and all(matches(element, hint) for element in value)  # type: ignore[attr-defined]


def describe(hint: Any) -> str:
    """A type in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        plain = [
            part for part in parts if part is not NoneType and (part, Path in parts) != (str, True)
        ]
        return " or ".join(dict.fromkeys(word for part in plain if (word := describe(part))))
    if origin is Sequence:
        if get_origin(parts[0]) is Sequence:
            return "rows, such as [[1, 0], [0, 1]]"
        paths = "paths" if Path in get_args(parts[0]) else "numbers"
        return f"a list of {ELEMENT_NAMES.get(parts[0], paths)}"
    if origin is Mapping:
        return 'names with values, such as {"a": 1}'
    if origin is not None:
        return "a function"
    return TYPE_NAMES.get(hint, "")


def _holds_numbers(hint: Any) -> bool:
    """Whether a list of these is checked by the lesson: numbers, or rows of numbers."""
    parts = get_args(hint)
    if get_origin(hint) is Sequence:
        return _holds_numbers(parts[0])
    return hint is float or any(_holds_numbers(part) for part in parts)


def _short_repr(value: object) -> str:
    quoted = repr(value)
    return quoted if len(quoted) <= LONGEST_REPR else f"{quoted[: LONGEST_REPR - 1]}…"
