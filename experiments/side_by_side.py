"""Train several models side by side on one device, each in a process of its own, within a time."""

import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dhyan.checkpoint import find_checkpoint, is_run, steps_in
from dhyan.compare.train import training_seconds
from dhyan.run.average_checkpoints import average, newest

GRACE_SECONDS = 60  # for the last checkpoint, after the time is over
AVERAGED = 5  # newest checkpoints, at most


@dataclass(frozen=True)
class Job:
    """A run to train: its name, recipe and settings."""

    name: str
    recipe: str
    settings: Mapping[str, str] = field(default_factory=dict)


def train_side_by_side(jobs: Sequence[Job], out: Path, seconds: float) -> list[str]:
    """Train every job in the folder `out/NAME` for so many seconds; the names of those that failed.

    A run that is there already is resumed, so that several calls add up.
    """
    deadline = time.monotonic() + seconds
    runs = {job.name: _start(job, out) for job in jobs}
    while any(run.poll() is None for run in runs.values()) and time.monotonic() < deadline:
        time.sleep(0.5)
    for run in runs.values():
        if run.poll() is None:
            run.send_signal(signal.SIGTERM)  # it saves a checkpoint and ends
    failed = []
    for name, run in runs.items():
        run.wait(GRACE_SECONDS)
        step = max(steps_in(out / name), default=0)
        print(f"{name}: step {step:,}", flush=True)
        if not step:
            print((out / f"{name}.log").read_text(errors="replace")[-2000:], flush=True)
            failed.append(name)
    return failed


def averaged_model(run: Path, folder: Path) -> Path:
    """The mean of the newest checkpoints of a run, written to a folder; the run if it has only one."""
    count = min(AVERAGED, len([step for step in steps_in(run) if step]))
    return average(newest(run, count), folder) if count > 1 else run


def training_of(run: Path) -> dict[str, Any]:
    """The name of a run, its best checkpoint and training time; without training state, its name."""
    if not is_run(run):
        return {"run": run.name}
    seconds = training_seconds(run, max(steps_in(run)))
    return {
        "run": run.name,
        "checkpoint": find_checkpoint(run).name,
        "training_seconds": round(seconds, 1),
    }


def _start(job: Job, out: Path) -> "subprocess.Popen[bytes]":
    """The process that trains a job, or resumes its training; its output goes to a log file."""
    run = out / job.name
    if is_run(run):
        words = ["train", str(run), "--resume"]
    else:
        words = ["train", job.recipe, "--out", str(run)]
        for key, value in job.settings.items():
            words += ["--set", f"{key}={value}"]
    log_file = out / f"{job.name}.log"
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with open(log_file, "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dhyan", *words], stdout=log, stderr=subprocess.STDOUT
        )
