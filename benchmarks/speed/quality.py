"""Do fused kernels train as well as reference kernels? Losses step by step, and BLEU."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.speed.model_recipes import Size, bahdanau, luong, trained, transformer
from benchmarks.speed.timing import Log, Row, Table
from dhyan.config import Recipe

MEDIUM = Size(256, 1024, 4, 3, 512, 8_000, 8_000)
SMALL = Size(16, 32, 2, 1, 16, 300, 300)
LOSS_TOLERANCE, BLEU_TOLERANCE = 0.005, 0.6  # relative, and in points
LAST = 50  # steps whose losses are averaged


@dataclass(frozen=True)
class Job:
    """One training run in its own process."""

    model: str
    kernels: str  # "fused" or "reference"
    precision: str = "bf16"
    seed: int = 1
    steps: int = 500
    tokens_per_batch: int = 4096
    dropout: bool = False
    test: int = 0  # sentences of the test set to translate
    quick: bool = False
    data: str = ""
    device: str = "cuda"

    @property
    def who(self) -> str:
        """The kernels and the precision."""
        return f"{self.kernels} kernels, {self.precision}"

    def recipe(self) -> Recipe:
        """The recipe of its model and training."""
        size = SMALL if self.quick else MEDIUM
        off: dict[str, Any] = {} if self.dropout else {"dropout": 0.0}
        build = {
            "transformer": lambda: transformer(size, shared=False, **off),
            "bahdanau": lambda: bahdanau(size, **off),
            "luong": lambda: luong(size, **off),
        }[self.model]()
        return trained(
            build,
            seed=self.seed,
            precision=self.precision,
            tokens_per_batch=256 if self.quick else self.tokens_per_batch,
            learning_rate=1e-3,
            warmup_steps=200,
        )


def compare_losses(
    *, data: Path, device: str, quick: bool, seconds: float, log: Log
) -> dict[str, Any]:
    """Training losses with one seed, the same batches and no dropout."""
    steps = 6 if quick else 500
    jobs = [
        Job(model, kernels, precision, steps=steps, data=str(data), device=device, quick=quick)
        for kernels, precision in (
            ("reference", "bf16"),
            ("fused", "bf16"),
            ("reference", "fp32"),
        )
        for model in ("bahdanau", "luong", "transformer")
        if (model, precision) != ("luong", "fp32")
    ]
    table = Table({"steps": steps, "tokens a batch": jobs[0].tokens_per_batch}, log)
    results = run_jobs(jobs, table, seconds=seconds)
    for job, result in results.items():
        curve = result["losses"][-LAST:]
        note = f"validation {result['valid']:.4f}, {result['seconds']:.0f} s"
        mean = statistics.mean(curve)
        unit = "training loss"
        table.add(Row(job.who, job.model, unit, mean, min(curve), max(curve), len(curve), note))
    for model in dict.fromkeys(job.model for job in jobs):
        means = {row.who: row.median for row in table.rows if row.at == model}
        verdict: dict[str, Any] = {"right": False, "missing": "a run did not finish"}
        if means.keys() >= {"fused kernels, bf16", "reference kernels, bf16"}:
            ratio = means["fused kernels, bf16"] / means["reference kernels, bf16"]
            difference = abs(ratio - 1)
            verdict = {"difference": difference, "right": difference <= LOSS_TOLERANCE}
        table.check(f"{model}: fused within 0.5 % of reference kernels", verdict)
    return {**table.figures(), "runs": [run_record(job, result) for job, result in results.items()]}


def compare_bleu(
    *, data: Path, device: str, quick: bool, seconds: float, log: Log
) -> dict[str, Any]:
    """BLEU of the test set with a beam of five, three seeds with either kind of kernels."""
    plan = {"bahdanau": 4 if quick else 1000, "transformer": 4 if quick else 1500}
    jobs = [
        Job(
            model,
            kernels,
            seed=seed,
            steps=steps,
            tokens_per_batch=8192,
            dropout=True,
            test=20 if quick else 1000,
            data=str(data),
            device=device,
            quick=quick,
        )
        for kernels in ("reference", "fused")
        for seed in ((1,) if quick else (1, 2, 3))
        for model, steps in plan.items()
    ]
    table = Table({"steps": plan, "tokens a batch": jobs[0].tokens_per_batch}, log)
    results = run_jobs(jobs, table, seconds=seconds)
    for model in plan:
        scores: dict[str, dict[int, float]] = {"fused": {}, "reference": {}}
        for job, result in results.items():
            if job.model == model:
                scores[job.kernels][job.seed] = result["bleu"]
        for kernels, by_seed in scores.items():
            if by_seed:
                note = f"mean {statistics.mean(by_seed.values()):.2f}, seeds {sorted(by_seed)}"
                table.add(
                    Row.of(f"{kernels} kernels, bf16", model, "BLEU", list(by_seed.values()), note)
                )
        seed_count = len({job.seed for job in jobs})
        table.check(
            f"{model}: means within 0.6",
            compare_means(scores["fused"], scores["reference"], seed_count),
        )
    return {**table.figures(), "runs": [run_record(job, result) for job, result in results.items()]}


def compare_means(
    fused: dict[int, float], reference: dict[int, float], seed_count: int
) -> dict[str, Any]:
    """Difference of the means over the seeds that both have; right only if no seed is missing."""
    seeds = sorted(fused.keys() & reference.keys())
    if not seeds:
        return {"seeds": seeds, "right": False}
    difference = abs(statistics.mean(fused[seed] - reference[seed] for seed in seeds))
    right = len(seeds) == seed_count and difference <= BLEU_TOLERANCE
    return {"seeds": seeds, "difference": difference, "right": right}


def run_record(job: Job, result: dict[str, Any]) -> dict[str, Any]:
    """A run for the result file; losses are means over fifty steps."""
    curve = result["losses"]
    parts = [curve[at : at + LAST] for at in range(0, len(curve), LAST)]
    return {**asdict(job), **result, "losses": [round(statistics.mean(part), 5) for part in parts]}


def run_jobs(
    jobs: Sequence[Job], table: Table, *, seconds: float, parallel: int = 8
) -> dict[Job, dict[str, Any]]:
    """Results of the jobs that finished in time; several share the device, so none is timed."""
    end = perf_counter() + seconds

    def run_process(job: Job) -> dict[str, Any]:
        words = [sys.executable, "-m", "benchmarks.speed.quality", json.dumps(asdict(job))]
        process = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "2"},
            timeout=max(end - perf_counter(), 0.1),
        )
        if process.returncode:
            raise RuntimeError(f"{job}\n{process.stderr[-2000:]}")
        return json.loads(process.stdout.splitlines()[-1])

    results = {}
    with ThreadPoolExecutor(min(parallel, os.cpu_count() or 1)) as pool:
        for job, future in [(job, pool.submit(run_process, job)) for job in jobs]:
            with table.trying(f"{job.model}, {job.who}, seed {job.seed}"):
                results[job] = future.result()
    return results


def run_job(job: Job) -> dict[str, Any]:
    """Train, and translate the test set if the job has one; runs in its own process."""
    from benchmarks.speed.corpus import multi30k
    from benchmarks.speed.training import build, with_reference_kernels
    from dhyan.training.events import Stepped, Validated

    recipe, start = job.recipe(), perf_counter()
    size, first = recipe.text.source_vocabulary_size, 40 if job.quick else None
    corpus = multi30k(Path(job.data) / "multi30k", size, first=first)
    recipe = with_reference_kernels(recipe) if job.kernels == "reference" else recipe
    translator, trainer = build(recipe, corpus, job.device)
    trainer.settings = replace(trainer.settings, report_every=1)
    events = list(trainer.run(job.steps))
    train_end = perf_counter()
    result: dict[str, Any] = {
        "losses": [event.loss for event in events if isinstance(event, Stepped)],
        "valid": [event.scores["loss"] for event in events if isinstance(event, Validated)][-1],
    }
    if job.test:
        result |= score_test_set(
            translator, corpus.test[: job.test], reference=job.kernels == "reference"
        )
    return {**result, "seconds": perf_counter() - start, "train_seconds": train_end - start}


def score_test_set(translator: Any, pairs: Sequence[Any], *, reference: bool) -> dict[str, Any]:
    """BLEU of the test set, translated with a beam of five."""
    from dhyan.evaluation.metrics import score as score_texts

    translator = replace(translator, fast=not reference, tokens_per_batch=32_768)
    outputs = translator([pair.source for pair in pairs], beam=5)
    translations = [translation.text for translation in outputs]
    references = [pair.target for pair in pairs]
    score = score_texts(translations, references, language="de", metrics=("bleu",))["bleu"]
    return {"bleu": score.value, "signature": score.signature}


if __name__ == "__main__":
    print(json.dumps(run_job(Job(**json.loads(sys.argv[1])))))
