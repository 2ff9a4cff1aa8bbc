"""Training the models of a comparison within a budget, one by one or in parallel processes."""

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep

from dhyan.compare.plan import Entry, Plan
from dhyan.errors import UserError
from dhyan.run import Run, train
from dhyan.run.run_folder import RunFolder
from dhyan.training.events import Event, Stepped
from dhyan.training.trainer import Trainer

logger = logging.getLogger(__name__)

LOG = "log.txt"
POLL, REPORT = 0.2, 10.0  # seconds between polls of the processes, and between progress lines

Command = Callable[[Entry], Sequence[str]]
"""The arguments of the command that trains an entry, after `dhyan`."""


@dataclass(frozen=True)
class BudgetedRun:
    """A run that ends after so many seconds of training (0: no limit), or at its last step.

    The time is that of the steps that led to its weights, also before a resumption; steps that
    are repeated because they had not been saved count once.
    """

    run: Run
    seconds: float = 0.0

    @property
    def folder(self) -> RunFolder:
        """The folder of the run."""
        return self.run.folder

    @property
    def trainer(self) -> Trainer:
        """The trainer of the run."""
        return self.run.trainer

    @property
    def sample(self) -> str:
        """A sentence to try the model on."""
        return self.run.sample

    def spent(self) -> float:
        """Seconds of training so far."""
        return training_seconds(self.folder.path, self.trainer.state.step)

    def __iter__(self) -> Iterator[Event]:
        """The events of training; the last step is validated, so that it can be the best."""
        trainer = self.trainer
        spent = self.spent()
        if self._over(spent):
            if not trainer.state.validation_pending:
                self.run.close()
                return
            self._end()
        for event in self.run:
            if isinstance(event, Stepped):
                spent += event.seconds
                if self._over(spent) and not trainer.stop_reason:
                    self._end()
            yield event

    def _over(self, spent: float) -> bool:
        return bool(self.seconds) and spent >= self.seconds

    def _end(self) -> None:
        self.trainer.settings = replace(self.trainer.settings, validate_every=1)
        self.trainer.stop(f"{self.seconds:g} seconds of training are over")


def start_run(plan: Plan, entry: Entry, *, device: str, threads: int) -> BudgetedRun:
    """The run of an entry, new or resumed from its newest checkpoint."""
    out = plan.run_folder(entry)
    resume = any(out.glob("step-*"))
    run = train(entry.recipe, out, resume=resume, device=device, threads=threads)
    return BudgetedRun(run, plan.budget.seconds)


def training_seconds(run_folder: Path, step: int) -> float:
    """The seconds of training that led to a step, by the run's own metrics."""
    return float(sum(event["seconds"] for event in _steps(run_folder) if event["step"] <= step))


def last_step(run_folder: Path) -> int:
    """The last step a run has taken."""
    return int(max((event["step"] for event in _steps(run_folder)), default=0))


def _steps(run_folder: Path) -> Iterator[dict[str, float]]:
    path = run_folder / "metrics.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            event = json.loads(line)
        except ValueError:  # a line cut off by a crash
            continue
        if event["event"] == "stepped":
            yield event


def train_in_parallel(plan: Plan, entries: Sequence[Entry], jobs: int, command: Command) -> None:
    """Train all entries, `jobs` at a time, each in its own process.

    If one fails or this is interrupted, the others save a checkpoint and stop.
    """
    waiting, running = list(entries), dict[str, subprocess.Popen[bytes]]()
    last_report = monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                entry = waiting.pop(0)
                running[entry.name] = _start_process(plan.run_folder(entry), command(entry))
                logger.info(f"{entry.name}: started")
            sleep(POLL)
            for name in [name for name, process in running.items() if process.poll() is not None]:
                if running.pop(name).returncode:
                    raise UserError(f"{name}: {_failure(plan.folder / name)}")
                logger.info(f"{name}: trained and evaluated")
            if monotonic() - last_report >= REPORT:
                last_report = monotonic()
                logger.info(
                    "  ".join(f"{name} {_progress(plan.folder / name)}" for name in running)
                )
    finally:
        for process in running.values():
            process.send_signal(signal.SIGTERM)
        for process in running.values():
            process.wait()


def _start_process(run_folder: Path, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process in its own session, so that Ctrl-C reaches it only through this one, once."""
    run_folder.mkdir(parents=True, exist_ok=True)
    with open(run_folder / LOG, "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dhyan", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _failure(run_folder: Path) -> str:
    """Why a process ended, by the last line of its log."""
    lines = [
        line for line in (run_folder / LOG).read_text(errors="replace").splitlines() if line.strip()
    ]
    return lines[-1].removeprefix("dhyan: ") if lines else f"no output; see {run_folder / LOG}"


def _progress(run_folder: Path) -> str:
    """The last step of a run."""
    last = next(_newest_events(run_folder), None)
    return f"step {last['step']:,}" if last else "starting"


def _newest_events(run_folder: Path) -> Iterator[dict[str, float]]:
    """The events of a run, newest first."""
    path = run_folder / "metrics.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for line in reversed(text.splitlines()):
        try:
            yield json.loads(line)
        except ValueError:  # a line that is being written
            continue
