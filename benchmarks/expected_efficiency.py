"""Expected efficiency on many GPUs, from figures of one, link bandwidths and batch planning."""

import json
from dataclasses import replace
from math import log2
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch

from benchmarks.report import newest, replace_block
from benchmarks.speed.model_recipes import FULL
from benchmarks.speed.model_recipes import transformer as transformer_recipe
from dhyan.data.batches import WINDOW, Batches
from dhyan.data.store import Examples, TokenSequences
from dhyan.models.build import build_model
from dhyan.run.build_trainer import DEVICE_MULTIPLE

WHAT = "expected-efficiency"
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "scale.md"
BEGIN, END = "<!-- efficiency: computed -->", "<!-- efficiency: end -->"
GPUS = (8, 64, 512)
BATCHES = (1, 8)  # of a process in a step
MODELS = {
    "base": ("width 512", FULL),
    "big": ("width 1024", replace(FULL, width=1024, feed_forward_width=4096, heads=16)),
}
TOKENS, LENGTH = 16_384, 32  # of a batch, and of its sentences, in the measurement
FELT = 0.05  # share of a step from which adding up gradients is said to bind
ASSUMED = {
    "gpus_per_host": 8,
    "nvlink_bytes_per_second": 450e9,  # one direction of an H200's 900 GB/s
    "network_bits_per_second_per_gpu": 400e9,  # one InfiniBand adapter for each GPU
    "share_of_bandwidth": 0.8,  # what collectives reach of the links
    "seconds_per_hop": 10e-6,
    "bytes_per_gradient": 4,
}


def expected_efficiency() -> dict[str, Any]:
    """A row for each model, number of GPUs and number of batches of a process in a step."""
    source = newest("scaling_h200")
    measured = {
        row["at"]: row["median"]
        for row in json.loads(source.read_text(encoding="utf-8"))["figures"]["rows"]
        if row["who"] == "Transformer"
    }
    planned = planning_rate()
    rows = [
        row(name, gradients(size), measured[at], planned, gpus=gpus, batches=batches)
        for name, (at, size) in MODELS.items()
        for batches in BATCHES
        for gpus in GPUS
    ]
    return {
        "one_gpu": source.name,
        "assumed": ASSUMED,
        "sentences_planned_per_second": round(planned),
        "rows": rows,
    }


def gradients(size: Any) -> int:
    """The number of gradients of the model that was measured."""
    with torch.device("meta"):
        model = build_model(transformer_recipe(size), size.pieces, size.pieces)
    return sum(weight.numel() for weight in model.parameters())


def row(
    name: str, weights: int, rate: float, planned: float, *, gpus: int, batches: int
) -> dict[str, Any]:
    """Seconds of computing, of adding up gradients and of planning, and which of them bind."""
    compute = batches * TOKENS / rate
    reduce = all_reduce(weights * ASSUMED["bytes_per_gradient"], gpus)
    plan = gpus * batches * TOKENS / LENGTH / planned
    step = max(compute + reduce, plan)
    binds = "computing"
    if reduce > FELT * step:
        binds = "gradients"
    if plan > compute + reduce:
        binds = "planning"
    return {
        "model": name,
        "weights": weights,
        "gpus": gpus,
        "batches_per_process": batches,
        "tokens_per_step": gpus * batches * TOKENS,
        "compute_seconds": compute,
        "gradient_seconds": reduce,
        "planning_seconds": plan,
        "efficiency": compute / step,
        "tokens_per_second": gpus * batches * TOKENS / step,
        "binds": binds,
    }


def all_reduce(size: float, gpus: int) -> float:
    """Seconds of a hierarchical all-reduce: within each host, and between hosts for each part."""
    local = ASSUMED["gpus_per_host"]
    hosts = gpus // local
    link = ASSUMED["nvlink_bytes_per_second"] * ASSUMED["share_of_bandwidth"]
    network = ASSUMED["network_bits_per_second_per_gpu"] / 8 * ASSUMED["share_of_bandwidth"]
    within = 2 * (local - 1) / local * size / link
    between = 2 * (hosts - 1) / hosts * size / local / network
    return within + between + 2 * log2(gpus) * ASSUMED["seconds_per_hop"]


def planning_rate(windows: int = 8) -> float:
    """Sentences a second that a core plans: permuted, sorted by length and split into batches."""
    random, count = np.random.default_rng(0), (windows + 1) * WINDOW
    sources = np.clip(random.lognormal(3.2, 0.5, count), 4, 200).astype(np.int64)
    targets = np.clip(sources * random.uniform(0.8, 1.3, count), 4, 250).astype(np.int64)
    batches = Batches(
        Examples(_sequences(sources), _sequences(targets)),
        tokens_per_batch=TOKENS,
        seed=1,
        multiple=DEVICE_MULTIPLE["cuda"],
        max_length=256,
    )
    batches._plan_window(0, windows)
    start = process_time()
    for number in range(windows):
        batches._plan_window(0, number)
    return windows * WINDOW / (process_time() - start)


def _sequences(lengths: np.ndarray) -> TokenSequences:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return TokenSequences(np.zeros(1, np.int32), offsets)


COLUMNS = (
    "model", "GPUs", "batches per GPU", "target tokens per step", "computing", "gradients",
    "planning", "efficiency", "million tokens/s", "binds first",
)  # fmt: skip


def table(figures: dict[str, Any]) -> str:
    """The rows as a table of the page."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|---|{'--:|' * (len(COLUMNS) - 2)}---|"]
    for row in figures["rows"]:
        times = (row[f"{part}_seconds"] * 1000 for part in ("compute", "gradient", "planning"))
        cells = (
            row["model"],
            row["gpus"],
            row["batches_per_process"],
            f"{row['tokens_per_step']:,}",
            *(f"{time:.1f} ms" for time in times),
            f"{row['efficiency']:.0%}",
            f"{row['tokens_per_second'] / 1e6:,.1f}",
            row["binds"],
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def block() -> str:
    """What the page shows: the table of the newest result, and its sources."""
    path = newest(WHAT)
    figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
    base, big = (
        next(row["weights"] for row in figures["rows"] if row["model"] == name) / 1e6
        for name in MODELS
    )
    results = "../../benchmarks/results"
    return (
        f"{table(figures)}\n"
        f"One H200 was [measured]({results}/{figures['one_gpu']}) in bf16 with batches of "
        f"{TOKENS:,} tokens; the models have {base:.0f} and {big:.0f} million weights. A core plans "
        f"{figures['sentences_planned_per_second'] / 1e6:.1f} million sentences a second "
        f"([computed]({results}/{path.name})).\n"
    )


def write_page() -> Path:
    """Put the table into the page."""
    replace_block(PAGE, BEGIN, END, block())
    return PAGE
