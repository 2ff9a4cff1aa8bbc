"""Training throughput of two processes with a core each, beside one process with one core."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from dhyan.torchrun import SAFE_SETTINGS, STORE_FOLDER

RECIPES = ("bahdanau2015-small", "transformer2017-small")
TARGET = 1.7  # times the throughput of one process
ROUNDS, STEPS = 11, 4  # bursts of each number of processes, steps of a burst
SETTINGS = {
    "data.synthetic": "primer",
    "data.pairs": 3000,
    "training.steps": 1_000_000,
    "training.validate_every": 1_000_000,
    "training.save_every": 1_000_000,
    "training.valid_sentences": 0,
    "training.early_stopping_metric": "loss",
    "training.report_every": STEPS,
    "training.tokens_per_batch": 2048,
    "training.gradient_accumulation": 2,
}


class TrainingProcesses:
    """Processes that train one model, a core each; a burst of steps whenever they are asked to."""

    def __init__(self, recipe: str, count: int, settings: dict[str, Any], folder: Path) -> None:
        folder.mkdir()
        words = [sys.executable, "-m", "benchmarks.processes", recipe, json.dumps(settings)]
        environment = {
            **os.environ, **SAFE_SETTINGS, STORE_FOLDER: str(folder), "OMP_NUM_THREADS": "1",
            "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count),
            "TORCHELASTIC_RESTART_COUNT": "0",
        }  # fmt: skip
        self.processes = [
            subprocess.Popen(
                [*words, str(folder / "run")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            )
            for rank in range(count)
        ]  # fmt: skip

    def burst(self) -> float:
        """Train a burst; target tokens per second."""
        for process in self.processes:
            assert process.stdin
            print("burst", file=process.stdin, flush=True)
        rates = []
        for process in self.processes:
            assert process.stdout
            rates.append(float(json.loads(process.stdout.readline())))
        return min(rates)

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.kill()
            process.wait()


def processes(rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure both recipes, default and exact, in turn; `misses` names what is below the target."""
    variants = {"default": {}, "exact": {"training.exact": True}}
    results = {
        f"{recipe}, {name}": measure(recipe, {**SETTINGS, **more}, rounds)
        for recipe in RECIPES
        for name, more in variants.items()
    }
    return {
        "unit": "target tokens per second, median of bursts in turn",
        "note": "each process is bound to one core and has one thread; the batches are the same",
        "rounds": rounds,
        "steps_per_burst": STEPS,
        "load_average": os.getloadavg(),
        "recipes": results,
        "misses": [name for name, result in results.items() if result["ratio"] < TARGET],
    }


def measure(recipe: str, settings: dict[str, Any], rounds: int) -> dict[str, float]:
    """Throughput of one and of two processes, and the median of their ratio in a round."""
    with tempfile.TemporaryDirectory() as folder:
        groups = [
            TrainingProcesses(recipe, count, settings, Path(folder) / str(count))
            for count in (1, 2)
        ]
        try:
            for group in groups:
                group.burst()
            speeds = [[group.burst() for group in groups] for _ in range(rounds)]
        finally:
            for group in groups:
                group.close()
    print(f"{recipe}: {speeds}", file=sys.stderr)
    one, two = (round(median(values), 1) for values in zip(*speeds, strict=True))
    return {
        "one": one,
        "two": two,
        "ratio": round(median(second / first for first, second in speeds), 2),
    }


def _train(recipe_name: str, settings: dict[str, Any], out: Path) -> None:
    """One of the processes: a burst of steps for each line of input."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[int(os.environ["LOCAL_RANK"])]})
    from dhyan.config import load_recipe
    from dhyan.run import train
    from dhyan.training.events import Stepped

    events = iter(train(load_recipe(recipe_name, settings), out, device="cpu", threads=1))
    for _ in sys.stdin:
        event = next(event for event in events if isinstance(event, Stepped))
        print(json.dumps(event.tokens / event.seconds), flush=True)


if __name__ == "__main__":
    _train(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))
