"""Goodput under failures: training that is killed periodically, and where its time goes."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

Event = Mapping[str, Any]
SETTINGS = {
    "data.pairs": 1000,
    "training.steps": 1_000_000,
    "training.validate_every": 1_000_000,
    "training.report_every": 5,
    "training.save_every": 50,
}
TARGET_SHARE = 0.9


@dataclass(frozen=True)
class Attempt:
    """One process: when it started and was killed, and the events it reported."""

    start: float
    end: float
    events: Sequence[Event]

    @property
    def first_step(self) -> float:
        """When its first step began."""
        steps = [event for event in self.events if event["event"] == "Stepped"]
        return float(steps[0]["at"] - steps[0]["seconds"]) if steps else self.end

    def steps(self) -> Iterator[tuple[int, float]]:
        """The last step of each report, and the seconds its steps took."""
        for event in self.events:
            if event["event"] == "Stepped":
                yield int(event["step"]), float(event["seconds"])

    @property
    def saved_step(self) -> int:
        """The last step it saved, or −1."""
        return max(
            (int(event["step"]) for event in self.events if event["event"] == "Saved"), default=-1
        )


class TrainingProcess:
    """Training in its own process, and the events it has reported so far."""

    def __init__(self, out: Path, *, wait: bool) -> None:
        self.events: list[Event] = []
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.goodput_under_failures",
                str(out),
                *["--wait"] * wait,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.reader = Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.events.append(json.loads(line))

    def kill(self) -> None:
        """Send SIGKILL and wait for the process to end."""
        assert self.process.poll() is None, "the training process ended before it was killed"
        self.process.kill()
        self.process.wait()
        self.reader.join()


def goodput(
    minutes: float = 10.0, kill_every: float = 60.0, *, standby: bool = True
) -> dict[str, object]:
    """Kill training every `kill_every` seconds, and account for the time.

    With `standby`, a second process waits to take over (`dhyan train … --resume --wait`).
    """
    attempts, processes = list[Attempt](), list[TrainingProcess]()
    with tempfile.TemporaryDirectory() as folder:
        out, start = Path(folder) / "run", time.monotonic()
        end = start + 60 * minutes
        while time.monotonic() < end - 1:
            processes = processes or [TrainingProcess(out, wait=False)]
            while standby and not processes[0].events:  # it locks the run before the standby asks
                time.sleep(0.05)
            processes += [TrainingProcess(out, wait=True)] if standby else []
            time.sleep(max(0.0, min(start + kill_every, end) - time.monotonic()))
            killed = processes.pop(0)
            killed.kill()
            attempts.append(Attempt(start, start := time.monotonic(), killed.events))
            print(f"{len(attempts)}: saved step {attempts[-1].saved_step}", file=sys.stderr)
        for process in processes:
            process.kill()
    settings = {"minutes": minutes, "killed_every_seconds": kill_every, "standby": standby}
    result = account(attempts)
    return {**settings, **result, "misses": misses(result)}


def misses(result: Mapping[str, Any]) -> list[str]:
    """The missed target as a sentence; empty if it was reached."""
    share, seconds_lost = result["effective_share"], {**result["seconds"]}
    if share >= TARGET_SHARE:
        return []
    seconds_lost.pop("useful_steps")
    largest = max(seconds_lost, key=lambda part: seconds_lost[part])
    loss = f"largest loss: {largest}, {seconds_lost[largest]} of {result['wall_seconds']} s"
    return [f"effective_share: {share}, target {TARGET_SHARE}; {loss}"]


def account(attempts: Sequence[Attempt]) -> dict[str, object]:
    """Seconds by what they were spent on, and the share of steps that were not lost."""
    wall = attempts[-1].end - attempts[0].start
    useful, repeated = 0.0, 0.0
    for attempt in attempts:
        saved = attempt.saved_step
        useful += sum(seconds for step, seconds in attempt.steps() if step <= saved)
        repeated += sum(seconds for step, seconds in attempt.steps() if step > saved)
    startup = sum(attempt.first_step - attempt.start for attempt in attempts)
    idle = sum(later.start - earlier.end for earlier, later in pairwise(attempts))
    parts = {
        "useful_steps": useful,
        "startup": startup,
        "repeated_steps": repeated,
        "between_processes": idle,
    }
    parts["saving_and_other"] = wall - sum(parts.values())
    return {
        "kills": len(attempts),
        "steps": attempts[-1].saved_step,
        "wall_seconds": round(wall, 1),
        "effective_share": round(useful / wall, 4),
        "seconds": {name: round(value, 1) for name, value in parts.items()},
    }


def _train(out: Path, *, wait: bool) -> None:
    """The process that is killed: `dhyan train numbers --resume`, printing each event's time."""
    from dhyan.checkpoint import is_run
    from dhyan.config import load_recipe
    from dhyan.run import train

    recipe = load_recipe("numbers", SETTINGS)
    for event in train(recipe, out, resume=is_run(out), wait=wait, threads=1):
        facts = {"at": time.monotonic(), "event": type(event).__name__, "step": event.step}
        print(json.dumps({**facts, "seconds": getattr(event, "seconds", 0.0)}), flush=True)


if __name__ == "__main__":
    _train(Path(sys.argv[1]), wait="--wait" in sys.argv)
