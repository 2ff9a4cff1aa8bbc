"""The run folder: checkpoints, pointers to the best and the last, and metrics.jsonl."""

import errno
import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from dhyan.checkpoint import (
    START_RECIPE,
    delete_old_checkpoints,
    newest_valid_checkpoint,
    read_checkpoint,
    replace_file,
    tensors_from_bytes,
    tensors_to_bytes,
    weights_from_bytes,
    write_checkpoint,
    write_pointer,
)
from dhyan.config import Recipe, dump_recipe, with_absolute_paths
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError, spell_option
from dhyan.run.environment import deterministic_flags, versions
from dhyan.run.load import MODEL_FILES, load_weights
from dhyan.training.data_parallel import DataParallel, is_sharded, sharded_like, whole
from dhyan.training.events import Event
from dhyan.training.resume import restore, training_tensors
from dhyan.training.trainer import Trainer, TrainState

logger = logging.getLogger(__name__)

STATE_FILES = ("training.safetensors", "training.json")


@dataclass(frozen=True)
class RunFolder:
    """The folder of a training run; `fingerprint` is a hash of its training data.

    `optional_files` go into every checkpoint: the training sentences, if they are known, and the
    codebook of a sound's symbols.
    """

    path: Path
    recipe: Recipe
    translator: Translator
    fingerprint: str
    optional_files: Mapping[str, bytes]

    def save(self, trainer: Trainer) -> Path:
        """Write a self-contained checkpoint, then update the pointers and delete old checkpoints.

        The checkpoint a run resumed from is not written again.
        """
        parallel, weights, tensors = trainer.parallel, trainer.weights(), training_tensors(trainer)
        named = {**weights, **tensors}  # the names of the latter have a colon
        parallel.check_equal(named, asdict(trainer.state), "the weights or the state")
        weights, tensors = (
            self._whole(part, keep=parallel.is_first) for part in (weights, tensors)
        )
        step = trainer.state.step
        is_saved = trainer.saved_step == step
        parallel.from_first(lambda: self._save(trainer.state, weights, tensors, is_saved=is_saved))
        return self.path / f"step-{step}"

    def _whole(self, tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
        """Tensors of which processes may hold parts; only the one that saves them keeps them."""
        sharded = (is_sharded(tensor) for tensor in tensors.values())
        if not any(sharded):
            return dict(tensors)
        kept = {}
        for name, tensor in tensors.items():
            full = whole(tensor.detach())
            if keep:
                kept[name] = full.cpu()
        return kept

    def _save(
        self,
        state: TrainState,
        weights: Mapping[str, Tensor],
        tensors: Mapping[str, Tensor],
        *,
        is_saved: bool,
    ) -> None:
        """Write a checkpoint, unless there is one, the pointers to it, and delete old ones."""
        folder = self.path / f"step-{state.step}"
        if not is_saved or not folder.is_dir():
            self._write(state, weights, tensors)
        for remedy in ("it is tried again", "the next checkpoint makes up for it"):
            try:
                self._update_pointers(state)
            except OSError as error:
                problem = f"{error.filename or self.path}: {error.strerror}"
                logger.warning(f"{folder} is whole, but {problem}; {remedy}")
            else:
                break

    def restore(self, trainer: Trainer) -> None:
        """Restore a trainer from the newest valid checkpoint."""
        checkpoint = shared_checkpoint(self.path, trainer.parallel)
        if checkpoint is None:
            raise UserError(
                f"{self.path}: holds no checkpoint any more; name another {spell_option('out')}"
            )
        restore_from_files(trainer, checkpoint[1])

    def write_pointers(self, state: TrainState) -> None:
        """Write last.json and best.json.

        If the best checkpoint was damaged and is gone, there is no best.json until a better one.
        """
        write_pointer(self.path, "last.json", state.step)
        best = state.best_step
        if best is not None and (self.path / f"step-{best}").is_dir():
            score = {self.recipe.training.early_stopping_metric: state.best_score}
            write_pointer(self.path, "best.json", best, **score)
        else:
            (self.path / "best.json").unlink(missing_ok=True)

    def _update_pointers(self, state: TrainState) -> None:
        """Update best.json and last.json, and delete old checkpoints."""
        self.write_pointers(state)
        delete_old_checkpoints(
            self.path, keep=self.recipe.training.keep_checkpoints, best=state.best_step
        )

    def _write(
        self, state: TrainState, weights: Mapping[str, Tensor], tensors: Mapping[str, Tensor]
    ) -> None:
        files = {
            "recipe.toml": dump_recipe(self.recipe).encode(),
            "model.safetensors": tensors_to_bytes(weights),
            "source.json": self.translator.source.to_json().encode(),
            "target.json": self.translator.target.to_json().encode(),
            "training.safetensors": tensors_to_bytes(tensors),
            "training.json": json.dumps(asdict(state), indent=1).encode(),
            **self.optional_files,
        }
        write_checkpoint(
            self.path,
            state.step,
            files,
            data_fingerprint=self.fingerprint,
            device=self.translator.device.type,
            threads=torch.get_num_threads(),
            deterministic=deterministic_flags(),
            versions=versions(),
            position=state.position,
        )


def shared_checkpoint(run: Path, parallel: DataParallel) -> tuple[Path, dict[str, bytes]] | None:
    """The newest undamaged checkpoint and its files, the same for all; every process verifies it."""
    needed, found = (*MODEL_FILES, *STATE_FILES), None

    def find() -> str:
        nonlocal found
        found = newest_valid_checkpoint(run, needed)
        return found[0].name if found else ""

    name = parallel.from_first(find)
    if parallel.is_first or not name:
        return found
    return run / name, read_checkpoint(run / name, *needed)


def save_start_recipe(run: Path, recipe: Recipe) -> None:
    """Save the recipe of a run that has no checkpoint yet, so that the run can be resumed by name."""
    replace_file(run / START_RECIPE, dump_recipe(with_absolute_paths(recipe)).encode())


def restore_from_files(trainer: Trainer, files: Mapping[str, bytes]) -> None:
    """Restore weights, optimizer state and training state from the files of a checkpoint."""
    parameters = dict(trainer.model.named_parameters())
    weights = {
        name: sharded_like(parameters[name], tensor) if name in parameters else tensor
        for name, tensor in weights_from_bytes(files["model.safetensors"]).items()
    }
    load_weights(trainer.model, weights)
    tensors = tensors_from_bytes(files["training.safetensors"])
    restore(trainer, tensors, json.loads(files["training.json"]))


def event_name(event: Event) -> str:
    """The class of an event in snake case, as metrics.jsonl names it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(event).__name__).lower()


class MetricsLog:
    """Writes the events of a run as lines of JSON.

    A resumed run first removes the lines after the step it resumes from, `until`. Lines that cannot
    be written, as on a full disk, are written later.
    """

    def __init__(self, path: Path, *, until: int) -> None:
        self.path = path
        self._unwritten = b""
        self._warned = False
        if path.exists():
            lines = path.read_bytes().splitlines(keepends=True)
            replace_file(path, b"".join(line for line in lines if _step(line) <= until))

    def write(self, event: Event) -> None:
        """Append an event."""
        record = {"event": event_name(event), **asdict(event)}
        self._unwritten += (json.dumps(record, default=str) + "\n").encode()
        try:
            _append(self.path, self._unwritten)
        except OSError as error:
            if not self._warned:
                logger.warning(
                    f"{self.path}: {error.strerror}; its lines are kept until there is room"
                )
            self._warned = True
        else:
            self._unwritten, self._warned = b"", False


def _append(path: Path, data: bytes) -> None:
    """Append to a file, all of the data or nothing."""
    with open(path, "ab", buffering=0) as file:
        size = file.tell()
        try:
            if file.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            file.truncate(size)
            raise


def _step(line: bytes) -> float:
    """The step of a line; infinity for a line that a crash cut off."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
