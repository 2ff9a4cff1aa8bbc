"""Training throughput of two processes with a core each, beside one process with one core."""

import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.report import newest
from benchmarks.training_worker import TrainingWorker
from dhyan.cli.launch_processes import SAFE_SETTINGS
from dhyan.run.processes import STORE_FOLDER

WHAT = "processes"
BEGIN, END = "<!-- processes: measured -->", "<!-- processes: end -->"
RECIPES = ("bahdanau2015-small", "transformer2017-small")
VARIANTS: dict[str, dict[str, object]] = {"default": {}, "exact": {"training.exact": True}}
TARGET = 1.7  # times the throughput of one process
ROUNDS, STEPS = 9, 4  # bursts of each number of processes, steps of a burst
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
        "misses": [name for name, result in results.items() if result["cpu_ratio"] < TARGET],
    }


def measure(recipe: str, settings: dict[str, Any], rounds: int) -> dict[str, float]:
    """Throughput of one and of two processes, and how much faster two are: medians of the rounds.

    A round takes the same steps with both. By CPU time of the busier process two are as much faster
    as they would be on a machine with nothing else to do, but for waiting for each other.
    """
    with tempfile.TemporaryDirectory() as folder:
        groups = [start(recipe, settings, count, Path(folder) / str(count)) for count in (1, 2)]
        try:
            for group in groups:
                burst(group)
            bursts = [[burst(group) for group in groups] for _ in range(rounds)]
        finally:
            for worker in (worker for group in groups for worker in group):
                worker.close()
    print(f"{recipe}: {bursts}", file=sys.stderr)
    return {
        "one": round(median(one.rate for one, _ in bursts), 1),
        "two": round(median(two.rate for _, two in bursts), 1),
        "ratio": round(median(two.rate / one.rate for one, two in bursts), 2),
        "cpu_ratio": round(median(one.cpu_seconds / two.cpu_seconds for one, two in bursts), 2),
    }


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


class Burst(NamedTuple):
    """Target tokens per second of some steps, and the CPU time of the busiest process."""

    rate: float
    cpu_seconds: float


def burst(workers: list[TrainingWorker]) -> Burst:
    """Take the next steps."""
    before = [cpu_seconds(worker) for worker in workers]
    for worker in workers:
        worker.start(0)
    rate = min(worker.result() for worker in workers)
    spent = (cpu_seconds(worker) - start for worker, start in zip(workers, before, strict=True))
    return Burst(rate, max(spent))


def cpu_seconds(worker: TrainingWorker) -> float:
    """The CPU time that a process has used."""
    fields = Path(f"/proc/{worker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def block() -> str:
    """What the page shows: the table of the newest result."""
    path = newest(WHAT)
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    load = figures["load_average"][0]
    lines = ["| recipe | by the clock | by CPU time |", "|---|--:|--:|"]
    for name, result in figures["recipes"].items():
        lines.append(f"| {name} | {result['ratio']:.2f}× | {result['cpu_ratio']:.2f}× |")
    source = f"[measured](../../benchmarks/results/{path.name})"
    return (
        "\n".join(lines)
        + f"\n\nThe two cores had other work meanwhile (load average {load:.0f}), so the clock "
        f"counts waiting for it; CPU time is that of the busier process ({source}).\n"
    )
