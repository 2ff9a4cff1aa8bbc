"""What failures cost: a training that is killed again and again, and where its time goes."""

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

Line = Mapping[str, Any]
SETTINGS = {
    "data.pairs": 1000,
    "training.steps": 1_000_000,
    "training.validate_every": 1_000_000,
    "training.report_every": 5,
    "training.save_every": 60,
}


@dataclass(frozen=True)
class Attempt:
    """One process: when it began and was killed, and what it told meanwhile."""

    began: float
    ended: float
    told: Sequence[Line]

    @property
    def first(self) -> float:
        """When its first step began."""
        steps = [line for line in self.told if line["event"] == "Stepped"]
        return float(steps[0]["at"] - steps[0]["seconds"]) if steps else self.ended

    def steps(self) -> Iterator[tuple[int, float]]:
        """The last step of each report, and how long its steps took."""
        for line in self.told:
            if line["event"] == "Stepped":
                yield int(line["step"]), float(line["seconds"])

    @property
    def saved(self) -> int:
        """The last step it saved, or −1."""
        return max(
            (int(line["step"]) for line in self.told if line["event"] == "Saved"), default=-1
        )


def failures(minutes: float = 10.0, every: float = 60.0) -> dict[str, object]:
    """Kill a training every so many seconds, for so many minutes, and add up where they went."""
    attempts = list[Attempt]()
    with tempfile.TemporaryDirectory() as folder:
        out, until = Path(folder) / "run", time.monotonic() + 60 * minutes
        while time.monotonic() < until - 1:
            attempts.append(attempt(out, min(every, until - time.monotonic())))
            print(f"{len(attempts)}: saved step {attempts[-1].saved}", file=sys.stderr)
    return {"minutes": minutes, "killed_every_seconds": every, **account(attempts)}


def attempt(out: Path, seconds: float) -> Attempt:
    """Train for so many seconds, then SIGKILL."""
    told = list[Line]()
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.failures", str(out)], stdout=subprocess.PIPE, text=True
    )
    reader = Thread(target=lambda: told.extend(_read(process)))
    reader.start()
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    assert process.poll() is None, "the training ended by itself"
    process.kill()
    process.wait()
    reader.join()
    return Attempt(began, time.monotonic(), told)


def account(attempts: Sequence[Attempt]) -> dict[str, object]:
    """Where the time went, in seconds, and the share of it that led somewhere."""
    wall = attempts[-1].ended - attempts[0].began
    kept, lost = 0.0, 0.0
    for one in attempts:
        kept += sum(seconds for step, seconds in one.steps() if step <= one.saved)
        lost += sum(seconds for step, seconds in one.steps() if step > one.saved)
    starting = sum(one.first - one.began for one in attempts)
    between = sum(later.began - sooner.ended for sooner, later in pairwise(attempts))
    parts = {"steps_kept": kept, "starting": starting, "steps_done_again": lost, "between": between}
    parts["saving_and_the_rest"] = wall - sum(parts.values())
    return {
        "kills": len(attempts),
        "steps": attempts[-1].saved,
        "wall_seconds": round(wall, 1),
        "effective_share": round(kept / wall, 4),
        "seconds": {name: round(value, 1) for name, value in parts.items()},
    }


def _read(process: "subprocess.Popen[str]") -> Iterator[Line]:
    assert process.stdout is not None
    for line in process.stdout:
        if line.endswith("\n"):
            yield json.loads(line)


def _train(out: Path) -> None:
    """What is killed: the training of `dhyan train numbers --resume`, telling each event's time."""
    from dhyan.config import load_recipe
    from dhyan.run import train

    for event in train(load_recipe("numbers", SETTINGS), out, resume=True, threads=1):
        facts = {"at": time.monotonic(), "event": type(event).__name__, "step": event.step}
        print(json.dumps({**facts, "seconds": getattr(event, "seconds", 0.0)}), flush=True)


if __name__ == "__main__":
    _train(Path(sys.argv[1]))
