"""Training and testing the models of the real ladder, several processes at once on one device."""

import multiprocessing
import os
import shutil
import signal
import sys
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dhyan.atomic_folder import to_json_bytes
from dhyan.checkpoint import replace_file
from dhyan.compare.evaluate import FILE as RESULT
from dhyan.compare.evaluate import evaluate_model
from dhyan.compare.test_sets import read_tests
from dhyan.compare.train import BudgetedRun, last_step, start_run
from dhyan.run.environment import measurement_environment
from dhyan.run.load import choose_device
from experiments.real_ladder.corpora import prepared_plan, seeded_entry

PRELOADED = ["torch", "sacrebleu", "triton", "dhyan.run", "dhyan.compare.evaluate"]
ENVIRONMENT, LOG, METRICS = "environment.json", "log.txt", "metrics.jsonl"
POLL_SECONDS, REPORT_SECONDS, PACK_SECONDS, GRACE_SECONDS = 0.2, 20.0, 40.0, 15.0
ATTEMPTS = 2


@dataclass(frozen=True)
class LadderRun:
    """One model on one corpus with one seed, and where it is trained."""

    prepared: Path
    runs: Path
    rung: str
    seed: int
    steps: int
    device: str

    @property
    def folder(self) -> Path:
        """Its run folder."""
        return self.runs / f"{self.rung}-{self.seed}"

    @property
    def name(self) -> str:
        """Corpus, model and seed."""
        return f"{self.runs.name}/{self.folder.name}"

    @property
    def finished(self) -> bool:
        """Whether it was trained and tested."""
        return (self.folder / RESULT).exists()


def train_and_test(run: LadderRun) -> None:
    """Train a model to its last step, or resume it, and test it; its checkpoints are removed."""
    log = os.open(run.folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    plan = prepared_plan(run.prepared, run.runs)
    entry = seeded_entry(plan.entry(run.rung), run.seed, run.steps)
    if not _train(start_run(plan, entry, device=run.device, threads=1)):
        return
    environment = measurement_environment(str(choose_device(run.device)))
    replace_file(run.folder / ENVIRONMENT, to_json_bytes(environment))
    evaluate_model(plan, entry, read_tests(run.prepared), device=run.device, threads=1)
    for checkpoint in run.folder.glob("step-*"):
        shutil.rmtree(checkpoint)


def _train(training: BudgetedRun) -> bool:
    """Train to the last step; False if SIGTERM stopped it, with a checkpoint."""

    def stop(number: int, frame: object) -> None:
        training.trainer.interrupt("stopped")

    signal.signal(signal.SIGTERM, stop)
    for _ in training:
        pass
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return not training.trainer.stop_reason


def train_all(runs: Sequence[LadderRun], jobs: int, seconds: float, archive: Path) -> list[str]:
    """Train and test what is not finished, `jobs` at a time; the names of unfinished runs.

    After `seconds` all are stopped with a checkpoint. The results so far are packed into the
    archive now and then.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    start = reported = packed = time.monotonic()
    waiting = [run for run in runs if not run.finished]
    attempts = dict.fromkeys(runs, 0)
    running: dict[LadderRun, Any] = {}
    while (waiting or running) and time.monotonic() - start < seconds:
        while waiting and len(running) < jobs:
            run = waiting.pop(0)
            run.folder.mkdir(parents=True, exist_ok=True)
            running[run] = context.Process(target=train_and_test, args=(run,), daemon=True)
            running[run].start()
            attempts[run] += 1
        time.sleep(POLL_SECONDS)
        for run in [run for run, process in running.items() if not process.is_alive()]:
            code = running.pop(run).exitcode
            if not run.finished:
                print(f"{run.name} failed ({code}): {last_line(run)}", flush=True)
                waiting += [run] if attempts[run] < ATTEMPTS else []
        now = time.monotonic()
        if now - reported >= REPORT_SECONDS:
            reported = now
            print(f"{now - start:.0f} s: {progress(runs, list(running))}", flush=True)
        if now - packed >= PACK_SECONDS:
            packed = now
            pack(runs, archive)
    for process in running.values():
        process.terminate()
    deadline = time.monotonic() + GRACE_SECONDS
    for process in running.values():
        process.join(max(0.0, deadline - time.monotonic()))
    pack(runs, archive)
    return [run.name for run in runs if not run.finished]


def progress(runs: Sequence[LadderRun], running: Sequence[LadderRun]) -> str:
    """How many runs are finished, and the last steps of those that are running."""
    finished = sum(run.finished for run in runs)
    steps = "  ".join(f"{run.folder.name} {last_step(run.folder)}" for run in running)
    return f"{finished} of {len(runs)} finished; {steps}"


def last_line(run: LadderRun) -> str:
    """The last line of a run's log."""
    path = run.folder / LOG
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    return next((line for line in reversed(lines) if line.strip()), "no output")


def pack(runs: Sequence[LadderRun], archive: Path) -> None:
    """Write results, environments and metrics of all runs, and the logs of unfinished ones."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    partial = archive.with_suffix(".partial")
    with tarfile.open(partial, "w:gz", compresslevel=6) as tar:
        for run in runs:
            names = (RESULT, ENVIRONMENT, METRICS) if run.finished else (LOG, METRICS)
            for name in names:
                if (path := run.folder / name).exists():
                    tar.add(path, f"{run.name}/{name}")
    os.replace(partial, archive)


def unpack(archive: Path, runs: Path) -> None:
    """Take over the finished runs of an archive, so that they are not trained again."""
    with tarfile.open(archive) as tar:
        names = tar.getnames()
        finished = {name.rpartition("/")[0] for name in names if name.endswith(f"/{RESULT}")}
        for name in names:
            if name.rpartition("/")[0] in finished and not (runs / name).exists():
                tar.extract(name, runs, filter="data")
