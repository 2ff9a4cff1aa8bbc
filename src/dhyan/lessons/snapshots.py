"""Snapshots: stored lesson results (JSON) of models that take too long to train while reading.

A file holds the result's dataclass, field by field, with its provenance.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from dhyan.errors import UserError
from dhyan.lessons.lesson import LessonResult, Provenance

SNAPSHOT = "snapshot"  # as the `model` of a lesson: the snapshot of a trained one
DIGITS = 5  # significant digits of every number, more than a figure shows
PACKAGE = "dhyan."

R = TypeVar("R", bound=LessonResult)


def write_snapshot(
    result: LessonResult, name: str, provenance: Provenance, folder: Path | None = None
) -> Path:
    """Write a result under a name, by which `read_snapshot` finds it."""
    path = (folder or Path(str(_FOLDER))) / f"{name}.json"
    content = _to_json(replace(result, provenance=provenance))
    path.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def has_snapshot(name: str) -> bool:
    """Whether the package has a snapshot of this name."""
    return (_FOLDER / f"{name}.json").is_file()


def read_snapshot(name: str, result_type: type[R], folder: Path | None = None) -> R:
    """The result stored under a name."""
    try:
        content = json.loads(((folder or _FOLDER) / f"{name}.json").read_text(encoding="utf-8"))
    except OSError:
        raise UserError(
            f"there is no snapshot of {name!r}: give model=RUN, a folder of `dhyan train`"
        ) from None
    result = _from_json(content)
    if not isinstance(result, result_type):
        raise UserError(f"the snapshot {name!r} is not one of {result_type.__name__}")
    return result


_FOLDER = files("dhyan.lessons") / "snapshots"


def _to_json(value: object) -> object:
    """A value as JSON: tensors, mappings and dataclasses as objects with a key of their own."""
    match value:
        case Tensor():
            return {
                "tensor": _to_json(value.tolist()),
                "type": str(value.dtype).removeprefix("torch."),
            }
        case float():
            return float(f"{value:.{DIGITS}g}")
        case tuple() | list():
            return [_to_json(element) for element in value]
        case Mapping():
            return {
                "mapping": [[_to_json(key), _to_json(element)] for key, element in value.items()]
            }
        case None | bool() | int() | str():
            return value
    if is_dataclass(value) and type(value).__module__.startswith(PACKAGE):
        path = f"{type(value).__module__.removeprefix(PACKAGE)}:{type(value).__name__}"
        content = {field.name: _to_json(getattr(value, field.name)) for field in fields(value)}
        return {"dataclass": path, **content}
    raise TypeError(
        f"a snapshot holds numbers, strings and dataclasses of dhyan, not {type(value)}"
    )


def _from_json(value: Any) -> Any:
    """The inverse of `_to_json`; sequences come back as tuples."""
    match value:
        case list():
            return tuple(_from_json(element) for element in value)
        case {"tensor": numbers, "type": dtype}:
            return torch.tensor(numbers, dtype=getattr(torch, dtype))
        case {"mapping": pairs}:
            return {_from_json(key): _from_json(element) for key, element in pairs}
        case {"dataclass": path, **content}:
            module, _, name = path.partition(":")
            dataclass = getattr(import_module(PACKAGE + module), name)
            return dataclass(**{str(key): _from_json(element) for key, element in content.items()})
    return value
