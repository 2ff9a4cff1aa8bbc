"""JSON and TOML of unknown origin: each key once, numbers that are some, nothing without end."""

import json
import tomllib
from collections import Counter
from math import isfinite
from typing import Any

SHOWN = 60
MOST_DOTS = 5000  # what dotted keys cost Python's reader of TOML grows with the square of them


def read_json(data: bytes | str, *, finite: bool = True) -> Any:
    """The value that JSON in UTF-8 stands for; anything else is a ValueError.

    Unlike Python's own reader it takes no key twice, and what is nested too deeply is no more than
    wrong. If all is to be `finite`, neither NaN nor what is too large for a number will do.
    """
    text = data if isinstance(data, str) else data.decode("utf-8")
    numbers: dict[str, Any] = {"parse_constant": _refused, "parse_float": _finite} if finite else {}
    try:
        return json.loads(text, object_pairs_hook=_each_once, **numbers)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_toml(data: bytes) -> dict[str, Any]:
    """The table that TOML stands for; anything else is a ValueError."""
    if data.count(b".") > MOST_DOTS:
        raise ValueError(f"it has more than {MOST_DOTS:,} dots")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def safe_repr(value: object) -> str:
    """A stranger's text for one of our lines: short, and without signs that are not seen."""
    text = repr(value[: SHOWN + 1] if isinstance(value, str) else value)
    return text if len(text) <= SHOWN + 2 else f"{text[:SHOWN]}…"


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        [(twice, _)] = counts.most_common(1)
        raise ValueError(f"the key {safe_repr(twice)} comes twice")
    return found


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{safe_repr(text)} is too large for a number")
    return number
