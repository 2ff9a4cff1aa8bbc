"""The same bits again: trainings repeated, killed and resumed, as they come and with `exact`."""

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

from dhyan.checkpoint import steps_in

COMMON = {
    "data.task": "primer",
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
AT_ONCE, KILLS = 12, 1
COMPARED = ("model.safetensors", "training.safetensors", "training.json")


def exact() -> Iterator[dict[str, Any]]:
    """What of each case is the same; then also what `exact` costs."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = [(name, on) for name in CASES for on in (False, True)]
        found = pool.map(lambda job: _again(Path(folder), *job), jobs)
        same = {f"{name}{', exact' * on}": own for (name, on), own in zip(jobs, found, strict=True)}
    facts = {"command": "python -m benchmarks exact", "steps": COMMON["training.steps"]}
    yield {**facts, "runs": same}
    with tempfile.TemporaryDirectory() as folder:
        speed = {name: _speed(Path(folder), name) for name in TIMED}
    yield {**facts, "runs": same, "tokens_per_second": speed}


def _again(folder: Path, name: str, on: bool) -> dict[str, Any]:
    """One run twice and once more, killed on its way: are they the same?"""
    outs = [folder / f"{name}-{on}-{which}" for which in ("one", "two", "killed")]
    recipe, own = CASES[name]
    settings = {**COMMON, **own, "training.deterministic": str(on).lower()}
    for out in outs[:2]:
        whole = _train(recipe, out, settings)
        said, _ = whole.communicate()
        if whole.returncode:
            return {"fault": said.splitlines()[-1]}
    at = _killed(recipe, outs[2], settings)
    one, two, killed = map(_sums, outs)
    found = {"again": one == two, "killed_at": at, "killed": one == killed}
    print(name, on, found, file=sys.stderr)
    return found


def _killed(recipe: str, out: Path, settings: Mapping[str, object]) -> list[int]:
    """Train, and be killed after some checkpoint, now and then; the last step saved before each."""
    chance, at = random.Random(str(out.name)), list[int]()
    steps = int(str(settings["training.steps"]))
    while (last := _newest(out)) < steps:
        process = _train(recipe, out, settings)
        until = chance.randint(last + 1, (last + steps) // 2)
        while process.poll() is None and (len(at) == KILLS or _newest(out) < until):
            time.sleep(0.02)
        if process.poll() is None:
            time.sleep(chance.random() / 10)
            process.kill()
            at.append(_newest(out))
        process.communicate()
        assert process.returncode in (0, -9), out
    return at


def _train(recipe: str, out: Path, settings: Mapping[str, object]) -> "subprocess.Popen[str]":
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    words += ["--resume"] if _newest(out) >= 0 else []
    return subprocess.Popen(
        [sys.executable, "-m", "dhyan", "train", recipe, "--out", str(out), *words, "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _newest(out: Path) -> int:
    return next(iter(steps_in(out)), -1)


def _sums(out: Path) -> dict[str, str]:
    folder = out / f"step-{_newest(out)}"
    return {name: sha256((folder / name).read_bytes()).hexdigest() for name in COMPARED}


def _speed(folder: Path, name: str) -> dict[str, Any]:
    """Tokens a second without and with: the median of the second half of a run."""
    recipe, own = TIMED[name]
    rates = dict[str, int]()
    for key in ("as_it_is", "exact"):
        out = folder / f"{name}-{key}"
        flag = {"training.deterministic": str(key == "exact").lower()}
        _train(recipe, out, {**COMMON, **own, **UNTIMED, **flag}).communicate()
        lines = [json.loads(line) for line in (out / "metrics.jsonl").open()]
        every = [one["tokens"] / one["seconds"] for one in lines if one["event"] == "stepped"]
        rates[key] = round(statistics.median(every[len(every) // 2 :]))
    print(name, rates, file=sys.stderr)
    return {**rates, "share": round(rates["exact"] / rates["as_it_is"], 3)}
