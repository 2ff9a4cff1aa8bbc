"""Training throughput of two processes with a core each, beside one process with one core."""

import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.training_worker import TrainingWorker
from dhyan.torchrun import SAFE_SETTINGS, STORE_FOLDER

WHAT = "processes"
RECIPES = ("bahdanau2015-small", "transformer2017-small")
VARIANTS: dict[str, dict[str, object]] = {"default": {}, "exact": {"training.exact": True}}
TARGET = 1.7  # times the throughput of one process
ROUNDS, STEPS = 11, 4  # bursts of each number of processes, steps of a burst
SETTINGS = {
    "data.synthetic": "primer",
    "data.pairs": 3000,
    "training.report_every": STEPS,
    "training.tokens_per_batch": 2048,
    "training.gradient_accumulation": 2,
}


def processes(rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure both recipes, default and exact, in turn; `misses` names what is below the target."""
    results = {
        f"{recipe}, {name}": measure(recipe, {**SETTINGS, **more}, rounds)
        for recipe in RECIPES
        for name, more in VARIANTS.items()
    }
    return {
        "unit": "target tokens per second, median of bursts in turn",
        "note": "each process is bound to one core and has one thread; the batches are the same",
        "settings": SETTINGS,
        "rounds": rounds,
        "load_average": os.getloadavg(),
        "recipes": results,
        "misses": [name for name, result in results.items() if result["ratio"] < TARGET],
    }


def measure(recipe: str, settings: dict[str, Any], rounds: int) -> dict[str, float]:
    """Throughput of one and of two processes, and the median of their ratio in a round."""
    with tempfile.TemporaryDirectory() as folder:
        groups = [start(recipe, settings, count, Path(folder) / str(count)) for count in (1, 2)]
        try:
            for group in groups:
                burst(group)
            speeds = [[burst(group) for group in groups] for _ in range(rounds)]
        finally:
            for worker in (worker for group in groups for worker in group):
                worker.close()
    print(f"{recipe}: {speeds}", file=sys.stderr)
    one, two = (round(median(values), 1) for values in zip(*speeds, strict=True))
    ratio = median(second / first for first, second in speeds)
    return {"one": one, "two": two, "ratio": round(ratio, 2)}


def start(recipe: str, settings: dict[str, Any], count: int, folder: Path) -> list[TrainingWorker]:
    """So many processes that train one model, a core each."""
    folder.mkdir()
    environment = {
        **SAFE_SETTINGS,
        STORE_FOLDER: str(folder),
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": str(count),
        "TORCHELASTIC_RESTART_COUNT": "0",
    }
    cores, workers = sorted(os.sched_getaffinity(0)), list[TrainingWorker]()
    for rank in range(count):
        ranked = {**environment, "RANK": str(rank)}
        workers.append(TrainingWorker(recipe, settings, threads=1, environment=ranked))
        os.sched_setaffinity(workers[-1].process.pid, {cores[rank]})
    return workers


def burst(workers: list[TrainingWorker]) -> float:
    """Target tokens per second of the next steps."""
    for worker in workers:
        worker.start(0)
    return min(worker.result() for worker in workers)
