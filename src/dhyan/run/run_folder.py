"""The folder of a run: its checkpoints, the pointers to them, and its metrics."""

import errno
import json
import logging
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from dhyan.checkpoint import (
    delete_old_checkpoints,
    newest_valid_checkpoint,
    replace_file,
    tensors_from_bytes,
    tensors_to_bytes,
    write_checkpoint,
    write_pointer,
)
from dhyan.config import Recipe, dump_recipe
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.run.load import MODEL_FILES, load_weights
from dhyan.training.events import Event
from dhyan.training.resume import restore, training_tensors
from dhyan.training.trainer import Trainer, TrainState
from dhyan.version import __version__

logger = logging.getLogger(__name__)

STATE_FILES = ("training.safetensors", "training.json")


@dataclass(frozen=True)
class RunFolder:
    """Where a run of this recipe and translator is kept; `fingerprint` is that of its data."""

    path: Path
    recipe: Recipe
    translator: Translator
    fingerprint: str

    def save(self, trainer: Trainer) -> Path:
        """Write a checkpoint that stands on its own, then let the pointers name it.

        One that a run has gone on from stays as it is, and is only pointed to.
        """
        step = trainer.state.step
        folder = self.path / f"step-{step}"
        if trainer.saved_step != step or not folder.is_dir():
            self._write(trainer)
        for remedy in ("it is tried again", "the next checkpoint, or --resume, makes up for it"):
            try:
                self._tidy(trainer.state)
            except OSError as error:
                trouble = f"{error.filename or self.path}: {error.strerror}"
                logger.warning(f"{folder} is whole, but {trouble}; {remedy}")
            else:
                break
        return folder

    def restore(self, trainer: Trainer) -> None:
        """Give a trainer back what its newest whole checkpoint holds."""
        found = newest_valid_checkpoint(self.path, (*MODEL_FILES, *STATE_FILES))
        if found is None:
            raise UserError(f"{self.path}: holds no checkpoint any more; name another --out")
        restore_from_files(trainer, found[1])

    def write_pointers(self, state: TrainState) -> None:
        """Let last.json and best.json name the checkpoints the trainer knows as such.

        After damage the best may be gone; then none is named until there is a better one.
        """
        write_pointer(self.path, "last.json", state.step)
        best = state.best_step
        if best is not None and (self.path / f"step-{best}").is_dir():
            scored = {self.recipe.training.early_stopping_metric: state.best_score}
            write_pointer(self.path, "best.json", best, **scored)
        else:
            (self.path / "best.json").unlink(missing_ok=True)

    def _tidy(self, state: TrainState) -> None:
        """Point to the checkpoints that count, and delete those that do no longer."""
        self.write_pointers(state)
        delete_old_checkpoints(
            self.path, keep=self.recipe.training.keep_checkpoints, best=state.best_step
        )

    def _write(self, trainer: Trainer) -> None:
        files = {
            "recipe.toml": dump_recipe(self.recipe).encode(),
            "model.safetensors": tensors_to_bytes(trainer.weights()),
            "source.json": self.translator.source.to_json().encode(),
            "target.json": self.translator.target.to_json().encode(),
            "training.safetensors": tensors_to_bytes(training_tensors(trainer)),
            "training.json": json.dumps(asdict(trainer.state), indent=1).encode(),
        }
        write_checkpoint(
            self.path,
            trainer.state.step,
            files,
            data_fingerprint=self.fingerprint,
            device=self.translator.device.type,
            threads=torch.get_num_threads(),
            deterministic=deterministic(),
            versions=versions(),
            position=trainer.state.position,
        )


def restore_from_files(trainer: Trainer, files: Mapping[str, bytes]) -> None:
    """Give a trainer the weights, the memory and the place that a checkpoint's files hold."""
    load_weights(trainer.model, tensors_from_bytes(files["model.safetensors"]))
    tensors = tensors_from_bytes(files["training.safetensors"])
    restore(trainer, tensors, json.loads(files["training.json"]))


def versions() -> dict[str, str]:
    """What a model was made with."""
    return {
        "dhyan": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def deterministic() -> str:
    """Which parts of PyTorch were told to compute in one way only; "none" if no part was."""
    flags = {
        "algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn": torch.backends.cudnn.deterministic,
    }
    return " and ".join(name for name, on in flags.items() if on) or "none"


def event_name(event: Event) -> str:
    """The class of an event in snake case, as metrics.jsonl names it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(event).__name__).lower()


class MetricsLog:
    """A run's events as lines of JSON; a resumed run first forgets those it will repeat.

    Lines that cannot be written, on a full disk say, are written once they can be.
    """

    def __init__(self, path: Path, *, until: int) -> None:
        self.path = path
        self._kept = b""
        self._warned = False
        if path.exists():
            lines = path.read_bytes().splitlines(keepends=True)
            replace_file(path, b"".join(line for line in lines if _step(line) <= until))

    def note(self, event: Event) -> None:
        """Append an event."""
        facts = {"event": event_name(event), **asdict(event)}
        self._kept += (json.dumps(facts, default=str) + "\n").encode()
        try:
            _append(self.path, self._kept)
        except OSError as error:
            if not self._warned:
                logger.warning(
                    f"{self.path}: {error.strerror}; its lines are kept until there is room"
                )
            self._warned = True
        else:
            self._kept, self._warned = b"", False


def _append(path: Path, data: bytes) -> None:
    """Add to the end of a file, all of it or nothing."""
    with open(path, "ab", buffering=0) as file:
        size = file.tell()
        try:
            if file.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            file.truncate(size)
            raise


def _step(line: bytes) -> float:
    """The step a line tells of; a line cut off by a crash tells of none that is kept."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
