"""Training throughput by number of threads and OpenMP wait policy, alone and beside busy processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from statistics import median
from typing import Any

from benchmarks.training_worker import TrainingWorker
from dhyan.cli import SPIN_COUNT

RECIPES = ("bahdanau2015-small", "transformer2017-small")
LOADS = {"alone": 0, "busy": 2}  # processes that compute without pause beside the training
ROUNDS, STEPS = 9, 5  # bursts of each variant, steps of a burst
WAIT_POLICY = "OMP_WAIT_POLICY"
SHORT_SPINNING = {"GOMP_SPINCOUNT": SPIN_COUNT}
ALL = os.cpu_count() or 1
VARIANTS: dict[str, tuple[int, dict[str, str]]] = {  # threads (0: the default), environment
    "default": (0, SHORT_SPINNING),
    "one thread": (1, SHORT_SPINNING),
    "all cores, spinning": (ALL, {}),
    "all cores, passive": (ALL, {WAIT_POLICY: "PASSIVE"}),
    "all cores, short spinning": (ALL, SHORT_SPINNING),
}
DEFAULT, BEFORE, ONE = "default", "all cores, spinning", "one thread"
TOLERANCE = 0.95  # of the throughput it is compared with
SETTINGS = {
    "data.synthetic": "primer",
    "data.pairs": 3000,
    "training.report_every": STEPS,
    "training.tokens_per_batch": 1024,
}


def threads() -> dict[str, Any]:
    """Measure every recipe; `misses` names what is slower than promised."""
    results = {recipe: measure(recipe) for recipe in RECIPES}
    return {
        "unit": "target tokens per second, median of bursts in turn",
        "note": "a process starts under the load it is measured with; load_average at the end",
        "busy_processes": LOADS,
        "rounds": ROUNDS,
        "steps_per_burst": STEPS,
        "load_average": os.getloadavg(),
        "recipes": results,
        "misses": [miss for recipe, result in results.items() for miss in misses(recipe, result)],
    }


def measure(recipe: str) -> dict[str, dict[str, float]]:
    """Throughput of each variant, alone and beside busy processes, measured in turn.

    A process chooses its default threads when it starts, so there is one of each variant that
    started alone, and one that started beside busy processes.
    """
    workers: dict[str, dict[str, TrainingWorker]] = {load: {} for load in LOADS}
    speeds: dict[str, dict[str, list[float]]] = {
        load: {name: [] for name in VARIANTS} for load in LOADS
    }
    try:
        for load, busy in LOADS.items():
            with busy_processes(busy):
                for name, (threads, environment) in VARIANTS.items():
                    workers[load][name] = TrainingWorker(
                        recipe, SETTINGS, threads=threads, environment=environment
                    )
                    workers[load][name].burst()
        for number in range(ROUNDS):
            print(f"{recipe}: round {number + 1} of {ROUNDS}", file=sys.stderr)
            for load, bursts in speeds.items():
                with busy_processes(LOADS[load]):
                    for name, worker in workers[load].items():
                        bursts[name].append(worker.burst())
    finally:
        for worker in chain.from_iterable(group.values() for group in workers.values()):
            worker.close()
    return {
        load: {name: round(median(values), 1) for name, values in bursts.items()}
        for load, bursts in speeds.items()
    }


def misses(recipe: str, result: dict[str, dict[str, float]]) -> list[str]:
    """What is slower than promised: the default beside busy processes, or alone than before."""
    alone, busy = result["alone"], result["busy"]
    missed = []
    if busy[DEFAULT] < TOLERANCE * busy[ONE]:
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
