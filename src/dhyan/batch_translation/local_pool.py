"""Worker processes on this machine; one that is killed is started again."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from types import TracebackType
from typing import IO

from dhyan.batch_translation.shard import Outcome, Status

MAX_DEATHS = 10  # of workers in a row, without a result between them


class LocalPool:
    """Processes that each translate one shard after another.

    A worker reads names of shards from a pipe and ends when the pipe is closed, so none outlives
    the process that started it, however that ends.
    """

    def __init__(self, out: Path, *, workers: int, devices: list[str], threads: int) -> None:
        self.slots, self._deaths = workers, 0
        self._selector = DefaultSelector()
        self._workers = [
            _Worker(out, devices[number % len(devices)], threads) for number in range(workers)
        ]

    def __enter__(self) -> "LocalPool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.stop()
        self._selector.close()

    def submit(self, name: str) -> None:
        """Give a shard to a worker that has none."""
        worker = next(worker for worker in self._workers if not worker.name)
        if worker.process is None:
            self._selector.register(worker.start(), EVENT_READ, worker)
        worker.send(name)

    def results(self, timeout: float) -> list[tuple[str, Outcome]]:
        """The shards that came to an end since the last call; waits for one, for a while."""
        return [self._result(key.data) for key, _ in self._selector.select(timeout)]

    def _result(self, worker: "_Worker") -> tuple[str, Outcome]:
        name, worker.name = worker.name, ""
        assert worker.process is not None
        assert worker.process.stdout is not None
        if line := worker.process.stdout.readline():
            self._deaths = 0
            return name, Outcome(*json.loads(line))
        self._selector.unregister(worker.process.stdout)
        code = worker.stop()
        if code >= 0:
            raise RuntimeError(f"a worker ended with exit code {code}; its traceback is above")
        self._deaths += 1
        if self._deaths > MAX_DEATHS:
            reason = signal.Signals(-code).name
            return name, Outcome(
                Status.STOP,
                f"{self._deaths} workers in a row ended by {reason}; start fewer, or look whether "
                f"there is memory enough",
            )
        return name, Outcome(Status.LOST)


class _Worker:
    """A process, or the place of one, and the shard it has."""

    def __init__(self, out: Path, device: str, threads: int) -> None:
        module = "dhyan.batch_translation.worker"
        self._command = [sys.executable, "-m", module, str(out), device, str(threads)]
        self.process: subprocess.Popen[bytes] | None = None
        self.name = ""

    def start(self) -> IO[bytes]:
        """Start the process; its output is returned."""
        path = str(Path(__file__).parents[2])
        before = os.environ.get("PYTHONPATH", "")
        self.process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{before}".rstrip(os.pathsep)},
            start_new_session=True,  # Ctrl-C is for the process that started it
        )
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, name: str) -> None:
        """Give the process a shard; that it has ended is found when its result is read."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.name = name
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(name).encode() + b"\n")
            self.process.stdin.flush()

    def stop(self) -> int:
        """End the process, if there is one; its exit code, negative for a signal."""
        process, self.process = self.process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with suppress(BrokenPipeError):
                    pipe.close()
        return process.wait()
