"""One model from several checkpoints of a run: the mean of their weights."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from dhyan.checkpoint import (
    find_checkpoint,
    point,
    read_checkpoint,
    read_manifest,
    steps_in,
    take_hold,
    tensors_from_bytes,
    tensors_to_bytes,
    write_checkpoint,
)
from dhyan.config import differences
from dhyan.faults import Fault
from dhyan.run.checks import MAY_CHANGE
from dhyan.run.folder import versions
from dhyan.run.saved import MODEL_FILES, saved_recipe
from dhyan.training.trainer import Progress
from dhyan.whole import MANIFEST, check_place


def newest(run: Path, count: int) -> list[Path]:
    """The folders of a run's newest checkpoints."""
    steps = steps_in(run)
    if len(steps) < count:
        raise Fault(
            f"{run}: holds {len(steps)} checkpoints, not {count}; ask for fewer, or train with a "
            f"larger training.keep"
        )
    return [run / f"step-{step}" for step in steps[:count]]


def average(models: Sequence[Path], out: Path) -> Path:
    """Write a model whose weights are the mean of those of other models, and say where.

    Its folder can be loaded, shown and begun from like any other, but not resumed.
    """
    if len(models) < 2:
        raise Fault("an average needs two checkpoints or more: name them, or a run and --last N")
    folders = [find_checkpoint(model) for model in models]
    _check_place(out)
    _check_different(folders)
    read = [read_checkpoint(folder, *MODEL_FILES) for folder in folders]
    for folder, files in zip(folders[1:], read[1:], strict=True):
        _check_alike(folders[0], read[0], folder, files)
    weights = mean([tensors_from_bytes(files["model.safetensors"]) for files in read])
    newest_of = max(map(read_manifest, folders), key=lambda manifest: manifest["step"])
    step, facts = newest_of["step"], {key: newest_of[key] for key in ("data", "device", "threads")}
    files = {
        **{name: read[0][name] for name in MODEL_FILES},
        "model.safetensors": tensors_to_bytes(weights),
        "training.json": json.dumps(asdict(Progress(step=step)), indent=1).encode(),
    }
    with take_hold(out):
        parts = [str(one) for one in folders]
        folder = write_checkpoint(out, step, files, versions=versions(), average_of=parts, **facts)
        point(out, "last.json", step, average_of=parts)
    return folder


def mean(models: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of every weight, added up in double precision."""
    return {
        name: torch.stack([model[name].double() for model in models]).mean(dim=0).to(first.dtype)
        for name, first in models[0].items()
    }


def _check_place(out: Path) -> None:
    """Refuse a folder that is a model, or a part of one."""
    check_place(out)
    if steps_in(out) or (out / MANIFEST).exists():
        raise Fault(f"{out} holds a model already: name another --out")
    if any((folder / MANIFEST).exists() for folder in out.absolute().parents):
        raise Fault(f"{out} lies inside a model: name another --out")


def _check_different(folders: Sequence[Path]) -> None:
    """Refuse a model that would count twice."""
    seen = set[Path]()
    for folder in folders:
        if folder.resolve() in seen:
            raise Fault(f"{folder} is named twice: name each model once")
        seen.add(folder.resolve())


def _check_alike(
    one: Path, first: Mapping[str, bytes], other: Path, files: Mapping[str, bytes]
) -> None:
    """Refuse models that no mean makes sense of."""
    unlike = differences(saved_recipe(first), saved_recipe(files))
    for key, (here, there) in unlike.items():
        if key not in MAY_CHANGE:
            raise Fault(
                f"{one} and {other} cannot be averaged: {key} is {here!r} in the one and "
                f"{there!r} in the other"
            )
    for name in ("source.json", "target.json"):
        if first[name] != files[name]:
            raise Fault(f"{one} and {other} cannot be averaged: their {name} differ")
