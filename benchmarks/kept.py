"""Trains what the kept lessons look into, and keeps what they show: one program for all of them."""

import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks import attachment, depth, improvements, tasks
from benchmarks.report import git
from benchmarks.trainings import Runs, train_all
from dhyan.lessons.provenance import Provenance
from dhyan.lessons.result import LessonResult
from dhyan.lessons.snapshots import write_snapshot

_RECURRENT = {
    "data.task": "primer",
    "data.pairs": 200_000,
    "data.max_words": 20,
    "text.tokenizer": "words",
    "text.source_vocabulary_size": 6000,
    "text.target_vocabulary_size": 8000,
    "training.label_smoothing": 0.0,
    "training.steps": 3000,
    "training.tokens_per_batch": 8192,
    "training.learning_rate": 0.004,
    "training.schedule": "cosine",
    "training.min_learning_rate_ratio": 0.02,
    "training.warmup_steps": 200,
    "training.validate_every": 1000,
    "training.valid_sentences": 50,
    "training.save_every": 3000,
    "training.early_stopping_metric": "loss",
}
DEEP = {
    f"deep-s{seed}": (
        "bahdanau2015-small",
        {**_RECURRENT, "encoder.layers": 4, "training.seed": seed},
    )
    for seed in (1, 2, 3)
}
LOOKED: Runs = {
    "bahdanau": ("bahdanau2015-small", _RECURRENT),
    "luong": ("luong2015-small", _RECURRENT),
    **DEEP,
}


def make_all(folder: Path, commit: str = "", *, jobs: int = 0) -> None:
    """Train every run that is not there yet, then keep every lesson.

    `commit` is for a machine that has the code without its history.
    """
    improvements.prepare(folder / "improvements")
    train_all(runs_of(folder), folder, jobs=jobs or max(1, (os.cpu_count() or 2) - 1))
    keep_all(folder, commit or git("rev-parse", "--short", "HEAD"))


def keep_all(folder: Path, commit: str, *names: str) -> None:
    """Keep these lessons, or all, of runs that are trained."""
    for name, make in _makers(folder).items():
        if not names or name in names:
            print(
                "kept", write_snapshot(make(), name, _origin(commit)), file=sys.stderr, flush=True
            )


def runs_of(folder: Path) -> Runs:
    """Every training, the longest first."""
    return {**LOOKED, **attachment.runs(), **improvements.runs(folder / "improvements")}


def _makers(folder: Path) -> Mapping[str, Callable[[], LessonResult]]:
    transformer = folder / attachment.LOOKED_AT

    def looked(name: str) -> LessonResult:
        return improvements.looked(folder / "bahdanau", folder / "luong")[name]

    return {
        "bahdanau": lambda: looked("bahdanau"),
        "luong": lambda: looked("luong"),
        "depth": lambda: depth.probed(*(folder / name for name in DEEP)),
        "heads": lambda: attachment.looked_heads(transformer),
        "gravity": lambda: attachment.looked_gravity(transformer),
        "idioms": lambda: tasks.idioms_of(transformer),
        "senses": lambda: tasks.senses_of(transformer),
        "tasks": tasks.tasks_of,
        "bottleneck": improvements.bottleneck,
        "improvements": lambda: improvements.judged(folder),
        "attachment": lambda: attachment.judged(folder),
    }


def _origin(commit: str) -> Provenance:
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return Provenance(
        command="python -m benchmarks lessons FOLDER",
        machine=gpu or f"CPU of {os.cpu_count()} cores",
        versions=f"torch {torch.__version__}",
        commit=commit,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
    )
