"""Tables with one JSON object on each line."""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dhyan.data.pairs import Tally
from dhyan.data.read_table import Sides, table_lines
from dhyan.data.read_text import fault, said
from dhyan.errors import UserError

USUAL = ("source", "target")


def read_objects(path: Path, columns: tuple[str, str] | None, tally: Tally) -> Iterator[Sides]:
    """The two sides of each object of a .jsonl; a newline inside a text becomes a space.

    Without columns the keys are `source` and `target`, or the only two texts of the first object.
    A key of an object inside is named with a dot, as in `translation.en`.
    """
    if columns and columns[0] == columns[1]:
        raise fault(path, 0, f"both sides are {said(columns[0])}; name two keys")
    keys = columns
    for line, text in table_lines(path, tally):
        if not text or text.isspace():
            tally.drop("blank line", "source", line)
            continue
        try:
            found = _object(path, line, text)
            keys = keys or _keys(path, line, found)
            one, other = (_value(path, line, found, key) for key in keys)
        except UserError as one_fault:
            tally.report(one_fault)
        else:
            yield line, one, other


def _object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON at character {error.pos + 1} ({error.msg})"
        raise fault(path, line, f"{reason}; write one object on each line") from None
    except (ValueError, RecursionError):
        raise fault(path, line, "JSON too large to read; write one small object a line") from None
    if not isinstance(found, dict):
        example = '{"source": "…", "target": "…"}'
        raise fault(path, line, f"JSON, but no object; write one such as {example}")
    return found


def _keys(path: Path, line: int, found: dict[str, Any]) -> tuple[str, str]:
    if all(key in found for key in USUAL):
        return USUAL
    texts = [key for key, value in found.items() if isinstance(value, str)]
    if len(texts) != 2:
        reason = f"{len(texts)} texts, and no source and target"
        inside = _texts(found)
        if len(inside) == 2:
            raise fault(path, line, f"{reason}; give --columns {said(','.join(inside))}")
        raise fault(path, line, f"{reason}; name two with --columns a,b {_there(found)}")
    return texts[0], texts[1]


def _value(path: Path, line: int, found: dict[str, Any], key: str) -> str:
    if "." in key and key not in found:
        found = _inside(found)
    if key not in found:
        near = get_close_matches(key, list(found), n=1)
        hint = f"did you mean {said(near[0])}, or another" if near else "name two"
        raise fault(path, line, f"no key is called {said(key)}; {hint} {_there(found)}")
    text = found[key]
    if not isinstance(text, str):
        reason = f"{said(key)} is {said(json.dumps(text))[:60]}, not a text"
        raise fault(path, line, f"{reason}; write it in quotes")
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        remedy = "write whole characters, and no NUL"
        raise fault(path, line, f"{said(key)} holds NUL or half a character; {remedy}")
    return text.replace("\n", " ")


def _there(found: dict[str, Any]) -> str:
    return f"of {said(', '.join(_inside(found))[:300])}"


def _inside(found: dict[str, Any]) -> dict[str, Any]:
    """An object with the keys of the objects in it, a dot between the names."""
    flat: dict[str, Any] = {}
    for key, value in found.items():
        more = value if isinstance(value, dict) else {}
        flat |= {f"{key}.{inner}": one for inner, one in more.items()} or {key: value}
    return flat


def _texts(found: dict[str, Any]) -> list[str]:
    return [key for key, value in _inside(found).items() if isinstance(value, str)]
