"""Trainings in processes of their own: started, followed by what they write, and ended.

Nothing here imports torch. A training holds on to its starter by a pipe (see `tethered`), so that
it saves a checkpoint and ends when that process is gone, however it went.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dhyan.checkpoint import steps_in
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.studio.metrics_log import METRICS, Event, Tail

State = Literal["running", "done", "cancelled", "failed"]
LOG = "training.log"
GRACE = 10.0  # seconds to save a checkpoint in
ASKED_TO_END = (-signal.SIGTERM, -signal.SIGKILL, -signal.SIGINT, 128 + 15, 128 + 2)


@dataclass(frozen=True)
class Progress:
    """How far a training is; `seconds_left` is None while nothing can be said of it.

    `problem` is the last line a failed one wrote.
    """

    state: State
    step: int
    steps: int
    loss: float | None
    scores: Mapping[str, float]
    seconds_left: float | None
    problem: str = ""


class Training:
    """`dhyan train RECIPE --out FOLDER` in a process of its own, from the moment this is made.

    `settings` are laid over the recipe as by `--set`. What it says goes into training.log beside
    its checkpoints, or, if it `speaks`, where this process speaks.
    """

    def __init__(
        self,
        name: str,
        recipe: str,
        folder: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        resume: bool = False,
        threads: int = 1,
        speaks: bool = False,
    ) -> None:
        self.name, self.folder = name, folder
        self.steps = load_recipe(recipe, settings).training.steps
        folder.mkdir(parents=True, exist_ok=True)
        self._first = max(steps_in(folder), default=0)
        self._tail, self._events = Tail(folder / METRICS), list[Event]()
        self._started, self._cancelled = time.time(), False
        self._began: float | None = None
        self._guard = threading.Lock()
        self._log = None if speaks else folder / LOG
        command = [sys.executable, "-m", "dhyan.studio.parent_watchdog", "train", recipe]
        command += ["--out", str(folder), "--threads", str(threads), *(["--resume"] * resume)]
        for key, value in (settings or {}).items():
            command += ["--set", f"{key}={json.dumps(value, ensure_ascii=False)}"]
        self._process = _started(command, self._log, threads)

    @property
    def state(self) -> State:
        """Whether it runs, and how it ended."""
        code = self._process.poll()
        if code is None:
            return "running"
        if code == 0:
            return "done"
        return "cancelled" if self._cancelled or code in ASKED_TO_END else "failed"

    def events(self) -> Sequence[Event]:
        """All that the run has told so far."""
        with self._guard:
            anew, new = self._tail.new()
            self._events = new if anew else self._events + new
            return self._events

    def progress(self) -> Progress:
        """How far it is, and if it failed, why."""
        state = self.state  # before the events, so that nothing an ended run told is missed
        told = self.events()
        steps = [event for event in told if event["event"] == "stepped"]
        scored = [event["scores"] for event in told if event["event"] == "validated"]
        step = max((event["step"] for event in told), default=self._first)
        return Progress(
            state=state,
            step=step,
            steps=self.steps,
            loss=steps[-1]["loss"] if steps else None,
            scores=scored[-1] if scored else {},
            seconds_left=self._left(step) if state == "running" else None,
            problem=self._last_line() if state == "failed" else "",
        )

    def cancel(self) -> None:
        """Ask it to end with a checkpoint; `wait` for that."""
        if self._process.poll() is None:
            self._cancelled = True
            self._process.terminate()

    def wait(self, seconds: float | None = None) -> State:
        """Be there at its end; one that does not end in so many seconds is left running."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.state

    def end(self) -> None:
        """Cancel it, and insist."""
        self.cancel()
        if self.wait(GRACE) == "running":
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()

    def _left(self, step: int) -> float | None:
        """At the pace so far, counted from the first checkpoint, where a fresh run begins."""
        if self._began is None:
            start = self.folder / f"step-{self._first}"
            self._began = max(self._started, start.stat().st_mtime) if start.exists() else None
        done = step - self._first
        if done <= 0:
            return None
        return (time.time() - (self._began or self._started)) / done * (self.steps - step)

    def _last_line(self) -> str:
        if self._log is None or not self._log.exists():
            return "the training failed; see the terminal"
        lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return said[-1].removeprefix("dhyan: ") if said else "the training ended without a word"


class Trainings:
    """Trainings by their names, one at a time, each in a folder of its name under `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, Training] = {}
        self._guard = threading.Lock()

    def start(self, kind: str, recipe: str, settings: Mapping[str, Any] | None = None) -> Training:
        """Begin one, named after its kind and a number."""
        with self._guard:
            if running := self.running:
                raise UserError(f"{running.name} is in training: wait for its end, or cancel it")
            name = next(
                name
                for number in range(1, len(self._known) + 2)
                if (name := f"{kind}-{number}") not in self._known
            )
            made = Training(name, recipe, self.root / name, settings=settings)
            self._known[name] = made
            return made

    @property
    def running(self) -> Training | None:
        """The one that is in training."""
        return next((one for one in self._known.values() if one.state == "running"), None)

    def all(self) -> list[Training]:
        """In the order they began."""
        return list(self._known.values())

    def get(self, name: str) -> Training:
        """By name."""
        if name not in self._known:
            raise UserError(
                f"there is no training {name!r}; there are {', '.join(self._known) or 'none'}"
            )
        return self._known[name]

    def end(self) -> None:
        """End whatever runs."""
        for one in self.all():
            one.end()


def _started(command: list[str], log: Path | None, threads: int) -> "subprocess.Popen[bytes]":
    """A process in a group of its own, with a pipe as its standard input that holds it here."""
    surroundings = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}
    with open(log or os.devnull, "wb") as file:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=file if log else None,
            stderr=subprocess.STDOUT if log else None,
            start_new_session=True,
            env=surroundings,
        )
