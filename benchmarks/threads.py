"""Training throughput by number of threads and OpenMP wait policy, alone and beside busy processes."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

RECIPES = ("bahdanau2015-small",)
BUSY = 2  # processes that compute without pause
ROUNDS, STEPS, WARM_UP = 5, 2, 1  # bursts of each variant, steps of a burst, bursts before them
WAIT_POLICY = "OMP_WAIT_POLICY"
VARIANTS: dict[str, tuple[int, dict[str, str]]] = {  # threads (0: the default), environment
    "one thread": (1, {WAIT_POLICY: "PASSIVE"}),
    "default threads, spinning": (0, {}),
    "default threads, passive": (0, {WAIT_POLICY: "PASSIVE"}),
    "default threads, short spinning": (0, {"GOMP_SPINCOUNT": "20000"}),
}
DEFAULT, BEFORE, ONE = "default threads, short spinning", "default threads, spinning", "one thread"
TOLERANCE = 0.98  # of the throughput it is compared with
SETTINGS = {
    "data.task": "primer",
    "data.pairs": 3000,
    "training.steps": 1_000_000,
    "training.validate_every": 1_000_000,
    "training.save_every": 1_000_000,
    "training.valid_sentences": 0,
    "training.early_stopping_metric": "loss",
    "training.report_every": STEPS,
    "training.tokens_per_batch": 1024,
}


class TrainingWorker:
    """A process that trains a burst of steps whenever it is asked to."""

    def __init__(self, recipe: str, threads: int, environment: dict[str, str]) -> None:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("OMP_")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.threads", recipe, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**inherited, **environment},
        )

    def burst(self) -> float:
        """Train a burst; target tokens per second."""
        assert self.process.stdin
        assert self.process.stdout
        print("burst", file=self.process.stdin, flush=True)
        return float(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def threads() -> dict[str, Any]:
    """Measure every recipe; `misses` names what is slower than promised."""
    results = {recipe: measure(recipe) for recipe in RECIPES}
    return {
        "unit": "target tokens per second, median of bursts in turn",
        "note": "'alone' adds no busy process; load_average is that of the machine at the end",
        "busy_processes": BUSY,
        "rounds": ROUNDS,
        "steps_per_burst": STEPS,
        "load_average": os.getloadavg(),
        "recipes": results,
        "misses": [miss for recipe, result in results.items() for miss in misses(recipe, result)],
    }


def measure(recipe: str) -> dict[str, dict[str, float]]:
    """Throughput of each variant, alone and beside busy processes, measured in turn."""
    workers = {name: TrainingWorker(recipe, *variant) for name, variant in VARIANTS.items()}
    speeds: dict[str, dict[str, list[float]]] = {
        load: {name: [] for name in VARIANTS} for load in ("alone", "busy")
    }
    try:
        for worker in workers.values():
            for _ in range(WARM_UP):
                worker.burst()
        for number in range(ROUNDS):
            print(f"{recipe}: round {number + 1} of {ROUNDS}", file=sys.stderr)
            for load, bursts in speeds.items():
                with busy_processes(BUSY if load == "busy" else 0):
                    for name, worker in workers.items():
                        bursts[name].append(worker.burst())
    finally:
        for worker in workers.values():
            worker.close()
    return {
        load: {name: round(median(values), 1) for name, values in bursts.items()}
        for load, bursts in speeds.items()
    }


def misses(recipe: str, result: dict[str, dict[str, float]]) -> list[str]:
    """What is slower than promised: the default beside busy processes, or alone than before."""
    alone, busy = result["alone"], result["busy"]
    missed = []
    if busy[DEFAULT] < busy[ONE]:
        missed.append(f"{recipe}, busy: default {busy[DEFAULT]}, one thread {busy[ONE]}")
    if alone[DEFAULT] < TOLERANCE * alone[BEFORE]:
        missed.append(f"{recipe}, alone: default {alone[DEFAULT]}, spinning {alone[BEFORE]}")
    return missed


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """So many processes that compute without pause."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _train(recipe_name: str, thread_count: int) -> None:
    """The training process: a burst of steps for each line of input."""
    from dhyan.config import load_recipe
    from dhyan.run import train
    from dhyan.training.events import Stepped

    with tempfile.TemporaryDirectory() as folder:
        recipe = load_recipe(recipe_name, SETTINGS)
        events = iter(train(recipe, Path(folder) / "run", device="cpu", threads=thread_count))
        for _ in sys.stdin:
            event = next(event for event in events if isinstance(event, Stepped))
            print(json.dumps(event.tokens / event.seconds), flush=True)


if __name__ == "__main__":
    _train(sys.argv[1], int(sys.argv[2]))
