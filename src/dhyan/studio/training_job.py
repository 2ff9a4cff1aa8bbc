"""Training jobs: `dhyan train` in a subprocess, followed by its metrics log, cancelled on request.

Nothing here imports torch. The subprocess is `python -m dhyan.studio.training_job train …`: the
command line with a parent watchdog. Its standard input is a pipe from this process; when the other
end closes, however this process ended, the job gets SIGTERM, saves a checkpoint and stops.
"""

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dhyan.checkpoint import steps_in
from dhyan.config import load_recipe
from dhyan.errors import UserError

Event = dict[str, Any]
State = Literal["running", "done", "cancelled", "failed"]
METRICS = "metrics.jsonl"
LOG = "training.log"
NICENESS = 10  # translation comes first on the cores that both need
STOP_SECONDS = 10.0  # to save a checkpoint in
STOPPED_CODES = (-signal.SIGTERM, -signal.SIGKILL, -signal.SIGINT, 128 + 15, 128 + 2)


@dataclass
class MetricsTail:
    """A metrics log of JSON lines, read on from the last position."""

    path: Path
    _position: int = field(default=0, init=False)
    _inode: int = field(default=0, init=False)

    def read_new(self) -> tuple[bool, list[Event]]:
        """Whether the file was rewritten, as by a resumed run, and the complete new lines.

        A line that is still being written is read next time; a damaged one is skipped.
        """
        try:
            with self.path.open("rb") as file:
                status = self.path.stat()
                changed = status.st_ino != self._inode or status.st_size < self._position
                rewritten, self._inode = changed and bool(self._inode), status.st_ino
                self._position = 0 if rewritten else self._position
                file.seek(self._position)
                lines, _, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return False, []
        if lines:
            self._position += len(lines) + 1
        return rewritten, [event for line in lines.splitlines() if (event := _event(line))]


def read_events(folder: Path) -> list[Event]:
    """All events a run has written so far."""
    return MetricsTail(folder / METRICS).read_new()[1]


def is_training(folder: Path) -> bool:
    """Whether a process is training in this folder: it holds the folder's lock."""
    import fcntl

    try:
        with (folder / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("step"), int) else None


@dataclass(frozen=True)
class Progress:
    """Progress of a job; `seconds_left` is None while there is no estimate.

    `error` is the last line a failed job wrote.
    """

    state: State
    step: int
    steps: int
    loss: float | None
    scores: Mapping[str, float]
    seconds_left: float | None
    error: str = ""


class TrainingJob:
    """`dhyan train RECIPE --out FOLDER` in a subprocess that starts at once.

    `settings` override the recipe as `--set` does. Output goes into training.log beside the
    checkpoints.
    """

    def __init__(
        self,
        name: str,
        recipe: str,
        folder: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        threads: int = 1,
    ) -> None:
        self.name, self.folder = name, folder
        self.steps = load_recipe(recipe, settings).training.steps
        folder.mkdir(parents=True, exist_ok=True)
        self._first_step = max(steps_in(folder), default=0)
        self._tail, self._events = MetricsTail(folder / METRICS), list[Event]()
        self._started, self._cancelled = time.time(), False
        self._loop_started: float | None = None
        self._lock = threading.Lock()
        self._log = folder / LOG
        command = [sys.executable, "-m", "dhyan.studio.training_job", "train", recipe]
        command += ["--out", str(folder), "--threads", str(threads)]
        for key, value in (settings or {}).items():
            command += ["--set", f"{key}={json.dumps(value, ensure_ascii=False)}"]
        self._process = _start(command, self._log, threads)

    @property
    def state(self) -> State:
        """Whether it is running, and else how it ended."""
        code = self._process.poll()
        if code is None:
            return "running"
        if code == 0:
            return "done"
        return "cancelled" if self._cancelled or code in STOPPED_CODES else "failed"

    def events(self) -> Sequence[Event]:
        """All events of the run so far."""
        with self._lock:
            rewritten, new = self._tail.read_new()
            self._events = new if rewritten else self._events + new
            return self._events

    def progress(self) -> Progress:
        """The current progress."""
        state = self.state  # read before the events, so that none of an ended run is missed
        events = self.events()
        reports = [event for event in events if event["event"] == "stepped"]
        validations = [event["scores"] for event in events if event["event"] == "validated"]
        step = max((event["step"] for event in events), default=self._first_step)
        return Progress(
            state=state,
            step=step,
            steps=self.steps,
            loss=reports[-1]["loss"] if reports else None,
            scores=validations[-1] if validations else {},
            seconds_left=self._seconds_left(step) if state == "running" else None,
            error=self._last_line() if state == "failed" else "",
        )

    def cancel(self) -> None:
        """Ask it to save a checkpoint and stop; `wait` for that."""
        if self._process.poll() is None:
            self._cancelled = True
            self._process.terminate()

    def wait(self, seconds: float | None = None) -> State:
        """Wait for its end, at most so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.state

    def stop(self) -> None:
        """Cancel it; kill it if it does not stop in time."""
        self.cancel()
        if self.wait(STOP_SECONDS) == "running":
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()

    def _seconds_left(self, step: int) -> float | None:
        """Estimated from the steps so far, timed from the first checkpoint."""
        if self._loop_started is None:
            start = self.folder / f"step-{self._first_step}"
            self._loop_started = (
                max(self._started, start.stat().st_mtime) if start.exists() else None
            )
        steps_done = step - self._first_step
        if steps_done <= 0:
            return None
        return (
            (time.time() - (self._loop_started or self._started)) / steps_done * (self.steps - step)
        )

    def _last_line(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
        messages = [line.strip() for line in lines if line.strip()]
        return messages[-1].removeprefix("dhyan: ") if messages else "the training ended silently"


class TrainingJobs:
    """Jobs by name, one running at a time, each in a folder of its name under `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._jobs: dict[str, TrainingJob] = {}
        self._lock = threading.Lock()

    def start(
        self, task: str, recipe: str, settings: Mapping[str, Any] | None = None
    ) -> TrainingJob:
        """Start a job, named after its task and a number."""
        with self._lock:
            if running := self.running:
                raise UserError(f"{running.name} is in training: wait for its end, or cancel it")
            name = next(
                name
                for number in range(1, len(self._jobs) + 2)
                if (name := f"{task}-{number}") not in self._jobs
            )
            job = TrainingJob(name, recipe, self.root / name, settings=settings)
            self._jobs[name] = job
            return job

    @property
    def running(self) -> TrainingJob | None:
        """The job that is running, if any."""
        return next((job for job in self._jobs.values() if job.state == "running"), None)

    def all(self) -> list[TrainingJob]:
        """All jobs in the order of their start."""
        return list(self._jobs.values())

    def get(self, name: str) -> TrainingJob:
        """The job of a name."""
        if name not in self._jobs:
            raise UserError(
                f"there is no training {name!r}; there are {', '.join(self._jobs) or 'none'}"
            )
        return self._jobs[name]

    def stop(self) -> None:
        """Stop all jobs."""
        for job in self.all():
            job.stop()


def _start(command: list[str], log: Path, threads: int) -> "subprocess.Popen[bytes]":
    """A process in its own group, whose standard input is the pipe of the parent watchdog."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}
    with open(log, "wb") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        )


def _stop_with_parent() -> None:
    """Parent watchdog: SIGTERM to this process when the pipe of its standard input closes."""
    while os.read(0, 1):  # not sys.stdin: its lock would be held when the process ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    os.nice(NICENESS)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    runpy.run_module("dhyan", run_name="__main__")  # by name: the command line is a layer above
