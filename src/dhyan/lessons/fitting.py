"""Whether what a reader gives is of the kind that a lesson takes, said in words where it is not.

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
    from dhyan.lessons.shown import Shown

LONGEST = 60  # letters of what was given, when it is said back
NAMED = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
}

LISTED = {str: "words", int: "whole numbers"}


def checked(call: "Callable[..., Shown]") -> "Callable[..., Shown]":
    """The same lesson, which refuses in one line what it could not count with."""
    takes, hints = signature(call), get_type_hints(call)

    @wraps(call)
    def lesson(*given: Any, **named: Any) -> "Shown":
        for name, value in takes.bind(*given, **named).arguments.items():
            if not fits(value, hints[name]):
                raise UserError(f"{name} is {_short(value)}: give {told(hints[name])}")
        return call(*given, **named)

    return lesson


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of a kind; what is no plain kind fits anything."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Sequence:
        return _is_list(value, parts[0])
    if origin is Mapping:
        return isinstance(value, Mapping)
    if origin is not None:
        return callable(value)
    return _is_one(value, kind)


def _is_one(value: object, kind: Any) -> bool:
    """True is no number, a whole number is one, and a path may be written as a text."""
    if isinstance(value, bool):
        return kind is bool
    wider = {float: (int, float), Path: (str, Path)}
    return not isinstance(kind, type) or isinstance(value, wider.get(kind, kind))


def _is_list(value: object, kind: Any) -> bool:
    if _of_numbers(kind):
        return not isinstance(value, str | int | float | Mapping)
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and all(fits(one, kind) for one in value)  # type: ignore[attr-defined]


def told(kind: Any) -> str:
    """A kind in words."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        plain = [
            part for part in parts if part is not NoneType and (part, Path in parts) != (str, True)
        ]
        return " or ".join(dict.fromkeys(word for part in plain if (word := told(part))))
    if origin is Sequence:
        if get_origin(parts[0]) is Sequence:
            return "rows, such as [[1, 0], [0, 1]]"
        paths = "paths" if Path in get_args(parts[0]) else "numbers"
        return f"a list of {LISTED.get(parts[0], paths)}"
    if origin is Mapping:
        return 'names with values, such as {"a": 1}'
    if origin is not None:
        return "a function"
    return NAMED.get(kind, "")


def _of_numbers(kind: Any) -> bool:
    """Whether a list of these is for the lesson to judge: numbers, or rows of them."""
    parts = get_args(kind)
    if get_origin(kind) is Sequence:
        return _of_numbers(parts[0])
    return kind is float or any(_of_numbers(part) for part in parts)


def _short(value: object) -> str:
    written = repr(value)
    return written if len(written) <= LONGEST else f"{written[: LONGEST - 1]}…"
