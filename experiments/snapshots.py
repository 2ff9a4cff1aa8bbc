"""Snapshots of the lessons that show trained models: which runs each needs, and how it is made."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import git
from dhyan.checkpoint import is_run
from dhyan.lessons.lesson import LessonResult, Provenance
from dhyan.lessons.sequences.rnn_layer_probes import LayerProbes, probe_layers
from dhyan.lessons.snapshots import write_snapshot
from experiments import (
    long_output,
    paragraph_probes,
    perspectives,
    pp_attachment,
    seq2seq_improvements,
    task_vectors,
)

Runs = Mapping[str, tuple[str, Mapping[str, Any]]]
"""A recipe and the settings laid over it, by the name of the run's folder."""

PROBE_SENTENCES, PROBE_DRAWS = 2000, (1, 2, 3, 4, 5)  # of the primer, drawn for the probes
_RECURRENT = {
    "data.synthetic": "primer",
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
RECURRENT_RUNS: Runs = {
    "bahdanau": ("bahdanau2015-small", _RECURRENT),
    "luong": ("luong2015-small", _RECURRENT),
}
DEEP_RUNS: Runs = {
    f"deep-s{seed}": (
        "bahdanau2015-small",
        {**_RECURRENT, "encoder.layers": 4, "training.seed": seed},
    )
    for seed in (1, 2, 3)
}


@dataclass(frozen=True)
class Snapshot:
    """The trainings that a lesson's snapshot needs, and the measurement made of them."""

    runs: Runs
    measure: Callable[[], LessonResult]


def snapshots(folder: Path) -> Mapping[str, Snapshot]:
    """Every snapshot, by the name of its lesson, with its runs in a folder."""
    transformer = folder / pp_attachment.TRACED_RUN
    heads = pp_attachment.runs()
    traced = {pp_attachment.TRACED_RUN: heads[pp_attachment.TRACED_RUN]}
    compared = {name: run for name, run in heads.items() if name not in traced}

    def attention_step(name: str) -> LessonResult:
        steps = seq2seq_improvements.attention_step_snapshots(folder / "bahdanau", folder / "luong")
        return steps[name]

    return {
        "bahdanau": Snapshot(RECURRENT_RUNS, lambda: attention_step("bahdanau")),
        "luong": Snapshot(RECURRENT_RUNS, lambda: attention_step("luong")),
        "rnn_layer_probes": Snapshot(DEEP_RUNS, lambda: probe_deep_runs(folder)),
        "paragraph_probes": Snapshot(
            paragraph_probes.runs(folder / "paragraphs"),
            lambda: paragraph_probes.paragraphs_snapshot(folder),
        ),
        "multi_head": Snapshot(traced, lambda: pp_attachment.encoder_heads_snapshot(transformer)),
        "gravity": Snapshot(traced, lambda: pp_attachment.gravity_snapshot(transformer)),
        "idioms": Snapshot(traced, lambda: task_vectors.idioms_snapshot(transformer)),
        "word_senses": Snapshot(traced, lambda: task_vectors.word_senses_snapshot(transformer)),
        "task_specific_vectors": Snapshot({}, task_vectors.task_vectors_snapshot),
        "bottleneck": Snapshot({}, seq2seq_improvements.bottleneck_snapshot),
        "seq2seq_improvements": Snapshot(
            seq2seq_improvements.runs(folder / "improvements"),
            lambda: seq2seq_improvements.improvements_snapshot(folder),
        ),
        "long_output": Snapshot(
            long_output.runs(), lambda: long_output.long_output_snapshot(folder)
        ),
        "perspectives": Snapshot(
            perspectives.runs(), lambda: perspectives.perspectives_snapshot(folder)
        ),
        "pp_attachment": Snapshot(compared, lambda: pp_attachment.evaluate_heads(folder)),
    }


def make_snapshots(folder: Path, *names: str, commit: str = "", jobs: int = 0) -> None:
    """Train what these lessons (or all) need and is not there yet, then write their snapshots.

    `commit` is for a machine that has the code without its history.
    """
    chosen = {
        name: snapshot for name, snapshot in snapshots(folder).items() if not names or name in names
    }
    if "seq2seq_improvements" in chosen:
        seq2seq_improvements.write_vectors(folder / "improvements")
    if "paragraph_probes" in chosen:
        paragraph_probes.write_paragraphs(folder / "paragraphs")
    runs = {name: run for snapshot in chosen.values() for name, run in snapshot.runs.items()}
    train_runs(runs, folder, jobs=jobs or max(1, (os.cpu_count() or 2) - 1))
    commit = commit or git("rev-parse", "--short", "HEAD")
    for name, snapshot in chosen.items():
        path = write_snapshot(snapshot.measure(), name, _provenance(name, commit))
        print("wrote", path, file=sys.stderr, flush=True)


def probe_deep_runs(folder: Path) -> LayerProbes:
    """Every layer of the encoders of runs that differ only in their seed."""
    runs = [folder / name for name in DEEP_RUNS]
    return probe_layers(runs, sentences=PROBE_SENTENCES, seeds=PROBE_DRAWS)


def train_runs(runs: Runs, folder: Path, *, jobs: int) -> None:
    """Train each run in a process of its own, `jobs` at once; finished runs are skipped."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda name: train_run(folder / name, *runs[name]), runs))


def train_command(recipe: str, settings: Mapping[str, Any], out: str | Path) -> list[str]:
    """The command that trains a run, as a reader would type it."""
    words = ["dhyan", "train", recipe, "--out", str(out)]
    for name, value in settings.items():
        words += ["--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    return words


def train_run(run: Path, recipe: str, settings: Mapping[str, Any]) -> None:
    """Train a run in a process of its own, or resume it; a finished one is skipped."""
    if (run / "done.json").exists():
        return
    command = ["dhyan", "train", str(run), "--resume"]
    if not is_run(run):
        command = train_command(recipe, settings, run)
    words = [sys.executable, "-m", *command, "--quiet"]
    process = subprocess.run(words, capture_output=True, text=True, check=False)
    output = (process.stdout + process.stderr).strip()[-300:]
    print(run.name, output, file=sys.stderr, flush=True)
    process.check_returncode()
    (run / "done.json").write_text(json.dumps(settings), encoding="utf-8")


def _provenance(name: str, commit: str) -> Provenance:
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return Provenance(
        command=f"python -m experiments {name} FOLDER",
        machine=gpu or f"CPU of {os.cpu_count()} cores",
        versions=f"torch {torch.__version__}",
        commit=commit,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
    )
