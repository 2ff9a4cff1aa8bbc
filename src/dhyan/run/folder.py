"""The folder of a run: its checkpoints, the pointers to them, and its metrics."""

import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from dhyan.checkpoint import forget_old, point, replace_file, tensors_to_bytes, write_checkpoint
from dhyan.config import Recipe, dump_recipe
from dhyan.decoding.translator import Translator
from dhyan.training.events import Event
from dhyan.training.resume import training_tensors
from dhyan.training.trainer import Progress, Trainer
from dhyan.version import __version__


@dataclass(frozen=True)
class RunFolder:
    """Where a run of this recipe and translator is kept; `fingerprint` is that of its data."""

    path: Path
    recipe: Recipe
    translator: Translator
    fingerprint: str

    def save(self, trainer: Trainer) -> Path:
        """Write a checkpoint that stands on its own, then let the pointers name it."""
        files = {
            "recipe.toml": dump_recipe(self.recipe).encode(),
            "model.safetensors": tensors_to_bytes(trainer.weights()),
            "source.json": self.translator.source.to_json().encode(),
            "target.json": self.translator.target.to_json().encode(),
            "training.safetensors": tensors_to_bytes(training_tensors(trainer)),
            "training.json": json.dumps(asdict(trainer.progress), indent=1).encode(),
        }
        folder = write_checkpoint(
            self.path,
            trainer.progress.step,
            files,
            data=self.fingerprint,
            device=self.translator.device.type,
            threads=torch.get_num_threads(),
            versions=versions(),
        )
        self.point(trainer.progress)
        keep = self.recipe.training.keep
        forget_old(self.path, keep=keep, best=trainer.progress.best_step)
        return folder

    def point(self, progress: Progress) -> None:
        """Let last.json and best.json name the checkpoints the trainer knows as such.

        After damage the best may be gone; then none is named until there is a better one.
        """
        point(self.path, "last.json", progress.step)
        best = progress.best_step
        if best is not None and (self.path / f"step-{best}").is_dir():
            scored = {self.recipe.training.stop_on: progress.best_score}
            point(self.path, "best.json", best, **scored)
        else:
            (self.path / "best.json").unlink(missing_ok=True)


def versions() -> dict[str, str]:
    """What a model was made with."""
    return {
        "dhyan": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


class MetricsLog:
    """A run's events as lines of JSON; a resumed run first forgets those it will repeat."""

    def __init__(self, path: Path, *, until: int) -> None:
        self.path = path
        if path.exists():
            lines = path.read_bytes().splitlines(keepends=True)
            replace_file(path, b"".join(line for line in lines if _step(line) <= until))

    def note(self, event: Event) -> None:
        """Append an event."""
        facts = {"event": type(event).__name__.lower(), **asdict(event)}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(facts, default=str) + "\n")


def _step(line: bytes) -> float:
    """The step a line tells of; a line cut off by a crash tells of none that is kept."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
