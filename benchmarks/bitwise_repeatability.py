"""Determinism: training repeated, and killed and resumed, with and without `deterministic`."""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import write_device_result
from dhyan.checkpoint import steps_in

COMMON = {
    "data.synthetic": "primer",
    "data.pairs": 20_000,
    "training.steps": 200,
    "training.save_every": 25,
    "training.validate_every": 200,
    "training.valid_sentences": 20,
}
SMALL = {
    "text.source_vocabulary_size": 4000,
    "text.target_vocabulary_size": 4000,
    "training.tokens_per_batch": 4096,
}
CASES: dict[str, tuple[str, Mapping[str, object]]] = {
    "bahdanau2015-small": ("bahdanau2015-small", {}),
    "luong2015-small": ("luong2015-small", {}),
    "transformer2017-small": ("transformer2017-small", {}),
    "copying": (
        "transformer2017-small",
        {"decoder.copy_mechanism": "true", "text.shared_vocabulary": "true"},
    ),
    "modern-small": ("modern-small", {}),
    "transformer2017, bf16": ("transformer2017", SMALL),
}
TIMED: dict[str, tuple[str, Mapping[str, object]]] = {
    "bahdanau2015-small": ("bahdanau2015-small", {}),
    "transformer2017-small": ("transformer2017-small", {}),
    "transformer2017, bf16": ("transformer2017", {**SMALL, "training.tokens_per_batch": 25_000}),
}
UNTIMED = {"training.validate_every": 10_000, "training.save_every": 10_000}
PARALLEL_RUNS, KILLS = 12, 1
COMPARED = ("model.safetensors", "training.safetensors", "training.json")


def write_determinism(folder: Path) -> Iterator[Path]:
    """Write the result file: after the comparison, and again with the throughput."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    for result in determinism():
        yield write_device_result("determinism", result, accelerator=gpu, folder=folder)


def determinism() -> Iterator[dict[str, Any]]:
    """Which runs of each case are bitwise equal; then also what `deterministic` costs."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PARALLEL_RUNS) as pool:
        jobs = [(name, deterministic) for name in CASES for deterministic in (False, True)]
        comparisons = pool.map(lambda job: _compare_runs(Path(folder), *job), jobs)
        runs = {
            f"{name}{', deterministic' * deterministic}": comparison
            for (name, deterministic), comparison in zip(jobs, comparisons, strict=True)
        }
    result = {
        "command": "python -m benchmarks determinism",
        "steps": COMMON["training.steps"],
        "runs": runs,
    }
    yield result
    with tempfile.TemporaryDirectory() as folder:
        throughput = {name: _compare_throughput(Path(folder), name) for name in TIMED}
    yield {**result, "tokens_per_second": throughput}


def _compare_runs(folder: Path, name: str, deterministic: bool) -> dict[str, Any]:
    """Train twice without interruption and once killed and resumed; compare the checkpoints."""
    outs = [folder / f"{name}-{deterministic}-{run}" for run in ("first", "second", "killed")]
    recipe, overrides = CASES[name]
    settings = {**COMMON, **overrides, "training.deterministic": str(deterministic).lower()}
    for out in outs[:2]:
        process = _train(recipe, out, settings)
        output, _ = process.communicate()
        if process.returncode:
            return {"error": output.splitlines()[-1]}
    killed_at = _train_with_kills(recipe, outs[2], settings)
    first, second, killed = map(_checksums, outs)
    comparison = {
        "repeat_equal": first == second,
        "killed_at": killed_at,
        "resume_equal": first == killed,
    }
    print(name, deterministic, comparison, file=sys.stderr)
    return comparison


def _train_with_kills(recipe: str, out: Path, settings: Mapping[str, object]) -> list[int]:
    """Train, killed after random checkpoints and resumed; the last step saved before each kill."""
    generator, killed_at = random.Random(str(out.name)), list[int]()
    steps = int(str(settings["training.steps"]))
    while (last := _last_step(out)) < steps:
        process = _train(recipe, out, settings)
        until = generator.randint(last + 1, (last + steps) // 2)
        while process.poll() is None and (len(killed_at) == KILLS or _last_step(out) < until):
            time.sleep(0.02)
        if process.poll() is None:
            time.sleep(generator.random() / 10)
            process.kill()
            killed_at.append(_last_step(out))
        process.communicate()
        assert process.returncode in (0, -9), out
    return killed_at


def _train(recipe: str, out: Path, settings: Mapping[str, object]) -> "subprocess.Popen[str]":
    arguments = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    arguments += ["--resume"] if _last_step(out) >= 0 else []
    return subprocess.Popen(
        [sys.executable, "-m", "dhyan", "train", recipe, "--out", str(out), *arguments, "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _last_step(out: Path) -> int:
    return next(iter(steps_in(out)), -1)


def _checksums(out: Path) -> dict[str, str]:
    folder = out / f"step-{_last_step(out)}"
    return {name: sha256((folder / name).read_bytes()).hexdigest() for name in COMPARED}


def _compare_throughput(folder: Path, name: str) -> dict[str, Any]:
    """Tokens per second without and with `deterministic`, medians of the second half of a run."""
    recipe, overrides = TIMED[name]
    rates = dict[str, int]()
    for mode in ("default", "deterministic"):
        out = folder / f"{name}-{mode}"
        setting = {"training.deterministic": str(mode == "deterministic").lower()}
        _train(recipe, out, {**COMMON, **overrides, **UNTIMED, **setting}).communicate()
        events = [json.loads(line) for line in (out / "metrics.jsonl").open()]
        steps = [event for event in events if event["event"] == "stepped"]
        throughputs = [event["tokens"] / event["seconds"] for event in steps]
        rates[mode] = round(statistics.median(throughputs[len(throughputs) // 2 :]))
    print(name, rates, file=sys.stderr)
    return {**rates, "ratio": round(rates["deterministic"] / rates["default"], 3)}
