"""Checkpoint averaging: a model whose weights are the mean of several checkpoints."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from dhyan.atomic_folder import MANIFEST, check_writable
from dhyan.audio.codebook_file import CODEBOOK_FILE
from dhyan.checkpoint import (
    find_checkpoint,
    lock_run,
    read_manifest,
    steps_in,
    tensors_to_bytes,
    weights_from_bytes,
    write_checkpoint,
    write_pointer,
)
from dhyan.config import Recipe, differences
from dhyan.data.training_sentences import TRAINING_SENTENCES, merge
from dhyan.errors import UserError, spell_option
from dhyan.model_check import read_model
from dhyan.run.environment import versions
from dhyan.run.load import MODEL_FILES, load_saved_recipe
from dhyan.training.trainer import TrainState

SECTIONS = ("encoder.", "decoder.")
TRAINING_ONLY = ("dropout", "attention_dropout", "pretrained_embedding", "freeze_embedding")
TEXT_SETTINGS = {"text.tokenizer", "text.shared_vocabulary", "text.placeholders"}


def newest(run: Path, count: int) -> list[Path]:
    """The folders of the newest checkpoints of a run, without that of step 0."""
    if not run.is_dir():
        raise UserError(f"{run}: no such folder; name the folder of a run")
    if (run / MANIFEST).exists():
        raise UserError(
            f"{run}: is one checkpoint; {spell_option('last')} takes the folder of a run, {run.parent}"
        )
    steps = [step for step in steps_in(run) if step]
    if len(steps) < count:
        raise UserError(
            f"{run}: holds {len(steps)} trained checkpoints, not {count}; ask for fewer, or train "
            f"with a larger training.keep_checkpoints"
        )
    return [run / f"step-{step}" for step in steps[:count]]


def average(models: Sequence[str | Path], out: Path) -> Path:
    """Write a model whose weights are the mean of those of several models; returns its folder.

    It can be loaded, evaluated and fine-tuned like any other, but not resumed.
    """
    if len(models) < 2:
        raise UserError(
            f"an average needs two checkpoints or more: name them, or a run and "
            f"{spell_option('last', 'N')}"
        )
    folders = [find_checkpoint(model) for model in models]
    _check_output(out)
    _check_different(folders)
    _check_trained(folders)
    checked = [read_model(model, allow_unknown_attention=True) for model in models]
    contents = [model.files for model in checked]
    for folder, files in zip(folders[1:], contents[1:], strict=True):
        _check_same_architecture(folders[0], contents[0], folder, files)
    weights = mean([weights_from_bytes(files["model.safetensors"]) for files in contents])
    manifest = max(map(read_manifest, folders), key=lambda manifest: manifest["step"])
    step = manifest["step"]
    facts = {key: manifest[key] for key in ("data_fingerprint", "device", "threads")}
    files = {
        **{name: contents[0][name] for name in MODEL_FILES},
        "model.safetensors": tensors_to_bytes(weights),
        "training.json": json.dumps(asdict(TrainState(step=step)), indent=1).encode(),
    }
    sentences = merge([model.training_sentences for model in checked])
    if sentences is not None:
        files[TRAINING_SENTENCES] = sentences.to_bytes()
    if checked[0].codebook is not None:
        files[CODEBOOK_FILE] = checked[0].codebook
    with lock_run(out):
        parts = [str(folder) for folder in folders]
        folder = write_checkpoint(out, step, files, versions=versions(), average_of=parts, **facts)
        write_pointer(out, "last.json", step, average_of=parts)
    return folder


def mean(models: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of every weight, computed in double precision."""
    return {
        name: torch.stack([model[name].double() for model in models]).mean(dim=0).to(first.dtype)
        for name, first in models[0].items()
    }


def _check_output(out: Path) -> None:
    """Refuse an output folder that holds a model, or is inside one."""
    check_writable(out)
    if steps_in(out) or (out / MANIFEST).exists():
        raise UserError(f"{out} holds a model already: name another {spell_option('out')}")
    if any((folder / MANIFEST).exists() for folder in out.absolute().parents):
        raise UserError(f"{out} lies inside a model: name another {spell_option('out')}")


def _check_different(folders: Sequence[Path]) -> None:
    """Refuse a model that is named twice."""
    resolved = set[Path]()
    for folder in folders:
        if folder.resolve() in resolved:
            raise UserError(f"{folder} is named twice: name each model once")
        resolved.add(folder.resolve())


def _check_trained(folders: Sequence[Path]) -> None:
    """Refuse checkpoints of step 0."""
    for folder in folders:
        if not read_manifest(folder)["step"]:
            raise UserError(
                f"{folder} is a run's start, before any training: name later checkpoints"
            )


def _check_same_architecture(
    first_folder: Path, first: Mapping[str, bytes], folder: Path, files: Mapping[str, bytes]
) -> None:
    """Refuse models with other vocabularies, other architectures or other random first weights."""
    both = f"{first_folder} and {folder} cannot be averaged"
    for name, side in (("source.json", "source"), ("target.json", "target")):
        if first[name] != files[name]:
            raise UserError(
                f"{both}: their {side} vocabularies differ; name checkpoints of one run, or models "
                f"fine-tuned from one with {spell_option('training.init_vocabulary', 'keep')}"
            )
    here, there = load_saved_recipe(first), load_saved_recipe(files)
    for key, (before, after) in differences(here, there).items():
        if _is_architecture(key):
            raise UserError(
                f"{both}: {key} is {before!r} in the one and {after!r} in the other; name models "
                f"of one architecture"
            )
    seeds = (here.training.seed, there.training.seed)
    if _starts_random(here) and _starts_random(there) and seeds[0] != seeds[1]:
        raise UserError(
            f"{both}: they started from other random weights, training.seed {seeds[0]} and "
            f"{seeds[1]}; name checkpoints of one run, or models fine-tuned from one with "
            f"{spell_option('training.init_from')}"
        )


def _is_architecture(key: str) -> bool:
    """Whether models that differ in this setting have other weights, or use them otherwise."""
    return key in TEXT_SETTINGS or (
        key.startswith(SECTIONS) and key.rpartition(".")[2] not in TRAINING_ONLY
    )


def _starts_random(recipe: Recipe) -> bool:
    return not recipe.training.init_from
