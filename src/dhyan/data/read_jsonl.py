"""JSON Lines: one JSON object on each line, with source and target under two keys."""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dhyan.data.pairs import ReadReport
from dhyan.data.read_table import Row, read_table_lines
from dhyan.data.read_text import file_error, printable
from dhyan.errors import UserError

DEFAULT_KEYS = ("source", "target")


def read_jsonl(path: Path, columns: tuple[str, str] | None, report: ReadReport) -> Iterator[Row]:
    """Source and target of each object of a .jsonl; a newline inside a text becomes a space.

    Without columns the keys are `source` and `target`, or the only two texts of the first object.
    A key of a nested object is named with a dot, as in `translation.en`.
    """
    if columns and columns[0] == columns[1]:
        raise file_error(path, 0, f"both sides are {printable(columns[0])}; name two keys")
    keys = columns
    for line, text in read_table_lines(path, report):
        if not text or text.isspace():
            report.drop("blank line", "source", line)
            continue
        try:
            record = _parse_object(path, line, text)
            keys = keys or _choose_keys(path, line, record)
            source, target = (_text_value(path, line, record, key) for key in keys)
        except UserError as error:
            report.add_error(error)
        else:
            yield line, source, target


def _parse_object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON at character {error.pos + 1} ({error.msg})"
        raise file_error(path, line, f"{reason}; write one object on each line") from None
    except (ValueError, RecursionError):
        reason = "JSON too large to read; write one small object a line"
        raise file_error(path, line, reason) from None
    if not isinstance(record, dict):
        example = '{"source": "…", "target": "…"}'
        raise file_error(path, line, f"JSON, but no object; write one such as {example}")
    return record


def _choose_keys(path: Path, line: int, record: dict[str, Any]) -> tuple[str, str]:
    if all(key in record for key in DEFAULT_KEYS):
        return DEFAULT_KEYS
    keys = [key for key, value in record.items() if isinstance(value, str)]
    if len(keys) != 2:
        reason = f"{len(keys)} texts, and no source and target"
        nested = [key for key, value in _flatten(record).items() if isinstance(value, str)]
        if len(nested) == 2:
            raise file_error(path, line, f"{reason}; give --columns {printable(','.join(nested))}")
        raise file_error(path, line, f"{reason}; name two with --columns a,b {_key_list(record)}")
    return keys[0], keys[1]


def _text_value(path: Path, line: int, record: dict[str, Any], key: str) -> str:
    if "." in key and key not in record:
        record = _flatten(record)
    if key not in record:
        close = get_close_matches(key, list(record), n=1)
        hint = f"did you mean {printable(close[0])}, or another" if close else "name two"
        raise file_error(
            path, line, f"no key is called {printable(key)}; {hint} {_key_list(record)}"
        )
    text = record[key]
    if not isinstance(text, str):
        reason = f"{printable(key)} is {printable(json.dumps(text))[:60]}, not a text"
        raise file_error(path, line, f"{reason}; write it in quotes")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        reason = f"{printable(key)} holds NUL or half a surrogate pair"
        raise file_error(path, line, f"{reason}; write whole characters, and no NUL")
    return text.replace("\n", " ")


def _key_list(record: dict[str, Any]) -> str:
    return f"of {printable(', '.join(_flatten(record))[:300])}"


def _flatten(record: dict[str, Any]) -> dict[str, Any]:
    """An object with the keys of its nested objects joined by dots, one level deep."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        nested = value if isinstance(value, dict) else {}
        flat |= {f"{key}.{inner}": item for inner, item in nested.items()} or {key: value}
    return flat
