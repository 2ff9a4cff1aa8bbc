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
    "training.save_every": 50,
}
LEAST_SHARE = 0.9


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


class Child:
    """A training in a process of its own, and what it has told so far."""

    def __init__(self, out: Path, *, wait: bool) -> None:
        self.told: list[Line] = []
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
                self.told.append(json.loads(line))

    def kill(self) -> None:
        """SIGKILL, and be there."""
        assert self.process.poll() is None, "the training ended by itself"
        self.process.kill()
        self.process.wait()
        self.reader.join()


def failures(minutes: float = 10.0, every: float = 60.0, spare: float = 1) -> dict[str, object]:
    """Kill a training every so many seconds, for so many minutes, and add up where they went.

    With a spare, another process stands by (`dhyan train … --resume --wait`).
    """
    attempts, children = list[Attempt](), list[Child]()
    with tempfile.TemporaryDirectory() as folder:
        out, began = Path(folder) / "run", time.monotonic()
        until = began + 60 * minutes
        while time.monotonic() < until - 1:
            children = children or [Child(out, wait=False)]
            while spare and not children[0].told:  # it has the folder before another asks for it
                time.sleep(0.05)
            children += [Child(out, wait=True)] if spare else []
            time.sleep(max(0.0, min(began + every, until) - time.monotonic()))
            killed = children.pop(0)
            killed.kill()
            attempts.append(Attempt(began, began := time.monotonic(), killed.told))
            print(f"{len(attempts)}: saved step {attempts[-1].saved}", file=sys.stderr)
        for child in children:
            child.kill()
    facts = {"minutes": minutes, "killed_every_seconds": every, "spare": bool(spare)}
    found = account(attempts)
    return {**facts, **found, "misses": misses(found)}


def misses(found: Mapping[str, Any]) -> list[str]:
    """What is below the target, in words; nothing, if all is well."""
    share, lost = found["effective_share"], {**found["seconds"]}
    if share >= LEAST_SHARE:
        return []
    lost.pop("steps_kept")
    most = max(lost, key=lambda part: lost[part])
    where = f"most went into {most}, {lost[most]} of {found['wall_seconds']} s"
    return [f"effective_share: {share}, and {LEAST_SHARE} was wanted; {where}"]


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


def _train(out: Path, *, wait: bool) -> None:
    """What is killed: the training of `dhyan train numbers --resume`, telling each event's time."""
    from dhyan.config import load_recipe
    from dhyan.run import train

    recipe = load_recipe("numbers", SETTINGS)
    for event in train(recipe, out, resume=True, wait=wait, threads=1):
        facts = {"at": time.monotonic(), "event": type(event).__name__, "step": event.step}
        print(json.dumps({**facts, "seconds": getattr(event, "seconds", 0.0)}), flush=True)


if __name__ == "__main__":
    _train(Path(sys.argv[1]), wait="--wait" in sys.argv)
