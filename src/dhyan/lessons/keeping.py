"""What lessons showed of models that took longer to train than a reader would wait: kept as files.

A file holds a lesson's dataclass, field by field, and what it was made by.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dhyan.errors import UserError
from dhyan.lessons.origin import Origin
from dhyan.lessons.shown import Shown

KEPT = "kept"  # given as a model: what a trained one showed, without training one
DIGITS = 5  # of every number, which is more than a figure shows
WITHIN = "dhyan.lessons."


def keep(shown: Shown, name: str, origin: Origin, folder: Path | None = None) -> Path:
    """Write what a lesson shows under a name, by which `kept` finds it."""
    path = (folder or Path(str(files("dhyan.lessons") / KEPT))) / f"{name}.json"
    told = _plain(replace(shown, origin=origin))
    path.write_text(json.dumps(told, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def is_kept(name: str) -> bool:
    """Whether a trained model's lesson of this name comes with the package."""
    return (files("dhyan.lessons") / KEPT / f"{name}.json").is_file()


def kept(name: str, folder: Path | None = None) -> Shown:
    """What was kept under a name."""
    place = folder or files("dhyan.lessons") / KEPT
    try:
        found = _whole(json.loads((place / f"{name}.json").read_text(encoding="utf-8")))
    except OSError:
        raise UserError(
            f"nothing is kept of {name!r}: give model=RUN, a folder of `dhyan train`"
        ) from None
    if not isinstance(found, Shown):
        raise UserError(f"what is kept of {name!r} is no lesson")
    return found


def _plain(value: object) -> object:
    """What JSON can hold; what it cannot is told by the one name in its mapping."""
    match value:
        case Tensor():
            return {
                "tensor": _plain(value.tolist()),
                "type": str(value.dtype).removeprefix("torch."),
            }
        case float():
            return float(f"{value:.{DIGITS}g}")
        case tuple() | list():
            return [_plain(one) for one in value]
        case Mapping():
            return {"mapping": [[_plain(key), _plain(one)] for key, one in value.items()]}
        case None | bool() | int() | str():
            return value
    if is_dataclass(value) and type(value).__module__.startswith(WITHIN):
        kind = f"{type(value).__module__.removeprefix(WITHIN)}:{type(value).__name__}"
        return {"of": kind, **{one.name: _plain(getattr(value, one.name)) for one in fields(value)}}
    raise TypeError(f"a lesson keeps numbers, words and its own dataclasses, not {type(value)}")


def _whole(value: Any) -> Any:
    """The other way round; sequences come back as tuples."""
    match value:
        case list():
            return tuple(_whole(one) for one in value)
        case {"tensor": numbers, "type": name}:
            return torch.tensor(numbers, dtype=getattr(torch, name))
        case {"mapping": pairs}:
            return {_whole(key): _whole(one) for key, one in pairs}
        case {"of": kind, **rest}:
            module, _, name = kind.partition(":")
            found = getattr(import_module(WITHIN + module), name)
            return found(**{str(key): _whole(one) for key, one in rest.items()})
    return value
