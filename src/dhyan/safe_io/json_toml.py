"""Parse JSON and TOML of unknown origin: no duplicate keys, no NaN, bounded nesting."""

import json
import tomllib
from collections import Counter
from math import isfinite
from typing import Any

MAX_REPR = 60  # characters
MAX_DOTS = 5000  # tomllib takes quadratic time for dotted keys


def read_json(data: bytes | str, *, finite: bool = True) -> Any:
    """Parse JSON in UTF-8; anything else is a ValueError.

    Unlike `json.loads` it refuses duplicate keys, and deep nesting is a ValueError too. With
    `finite`, NaN, infinity and numbers too large for a float are refused.
    """
    text = data if isinstance(data, str) else data.decode("utf-8")
    numbers: dict[str, Any] = (
        {"parse_constant": _refuse_constant, "parse_float": _finite_float} if finite else {}
    )
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, **numbers)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_toml(data: bytes) -> dict[str, Any]:
    """Parse TOML; anything else is a ValueError."""
    if data.count(b".") > MAX_DOTS:
        raise ValueError(f"it has more than {MAX_DOTS:,} dots")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def safe_repr(value: object) -> str:
    """The repr of untrusted text for one line of a message: short, no invisible characters."""
    text = repr(value[: MAX_REPR + 1] if isinstance(value, str) else value)
    return text if len(text) <= MAX_REPR + 2 else f"{text[:MAX_REPR]}…"


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {safe_repr(key)} comes twice")
    return table


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _finite_float(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{safe_repr(text)} is too large for a number")
    return number
