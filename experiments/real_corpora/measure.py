"""Scores of models trained on real corpora: variants on validation, tasks on their tests."""

import multiprocessing
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from sacrebleu.metrics.bleu import BLEU

import dhyan
from benchmarks.report import write_device_result
from dhyan.api.evaluate import Evaluation
from dhyan.checkpoint import steps_in
from dhyan.compare.train import training_seconds
from dhyan.evaluation.metrics import Score
from experiments.real_corpora.tasks import TASKS
from experiments.side_by_side import averaged_model

EVALUATIONS_AT_ONCE = 8
COMMAND = "for step in train score; do python -m experiments.real_corpora $step {name}; done"


def score_variants(variants: Mapping[str, Mapping[str, Any]], out: Path, results: Path) -> Path:
    """Score each variant of each task on its validation set, several at once; the result file."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(EVALUATIONS_AT_ONCE, context) as pool:
        scores = {
            (name, variant): pool.submit(_score_variant, name, variant, out)
            for name, own in variants.items()
            for variant in own
        }
        figures: dict[str, dict[str, Any]] = {name: {} for name in variants}
        for (name, variant), score in scores.items():
            figures[name][variant] = {"settings": variants[name][variant], **score.result()}
            print(name, variant, score.result(), flush=True)
    return _write("real-corpora-tuning", figures, results)


def _score_variant(name: str, variant: str, out: Path) -> dict[str, Any]:
    run = out / f"{name}-{variant}"
    scores = _evaluate(run, out / "texts" / name, "valid", TASKS[name].target).scores
    step = max(steps_in(run))
    return {
        "step": step,
        "training_seconds": round(training_seconds(run, step), 1),
        **{metric: round(score.value, 2) for metric, score in scores.items()},
        "signature": scores["bleu"].signature,
    }


def distill(name: str, out: Path, teacher: str) -> Path:
    """Sequence-level distillation: translate the monolingual text of a task with a trained run.

    The pairs are written beside the task's texts, as `distilled`.
    """
    texts = out / "texts" / name
    target = texts / f"distilled.{TASKS[name].target}"
    shutil.copyfile(texts / "monolingual.en", texts / "distilled.en")
    with tempfile.TemporaryDirectory(dir=out) as temporary:
        model = averaged_model(out / teacher, Path(temporary) / "average")
        command = [sys.executable, "-m", "dhyan", "translate", str(model)]
        command += [str(texts / "distilled.en"), "-o", str(target)]
        subprocess.run(command, check=True)
    return target


def score_tasks(names: Sequence[str], seeds: Sequence[int], out: Path, results: Path) -> Path:
    """Score every test of every task with every seed, and write the result file."""
    figures = {name: _score_task(name, seeds, out) for name in names}
    return _write("real-corpora", figures, results)


def _write(what: str, figures: Mapping[str, Any], results: Path) -> Path:
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return write_device_result(what, dict(figures), accelerator=accelerator, folder=results)


def _score_task(name: str, seeds: Sequence[int], out: Path) -> dict[str, Any]:
    task, runs = TASKS[name], {seed: out / f"{name}-{seed}" for seed in seeds}
    tests = {}
    for number, test in enumerate(task.tests):
        evaluations = {
            seed: _evaluate(run, out / "texts" / name, f"test-{number}", task.target)
            for seed, run in runs.items()
        }
        tests[f"{test.corpus} {test.name}"] = {
            **_summary({seed: own.scores for seed, own in evaluations.items()}),
            "bleu_lowercased": _lowercased(evaluations),
        }
    model = dhyan.load(runs[seeds[0]]).model
    return {
        "recipe": task.recipe,
        "command": COMMAND.format(name=name),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "steps": {seed: max(steps_in(run)) for seed, run in runs.items()},
        "training_seconds": {
            seed: round(training_seconds(run, max(steps_in(run))), 1) for seed, run in runs.items()
        },
        "note": "trained side by side: seconds are longer than those of one run alone",
        "tests": tests,
    }


def _evaluate(run: Path, texts: Path, split: str, target: str) -> Evaluation:
    """The evaluation of the average of a run's last checkpoints."""
    with tempfile.TemporaryDirectory(dir=run.parent) as temporary:
        model = averaged_model(run, Path(temporary) / "average")
        files = str(texts / f"{split}.en"), str(texts / f"{split}.{target}")
        return dhyan.evaluate(str(model), files, ("bleu", "chrf"))


def _summary(scores: Mapping[int, Mapping[str, Score]]) -> dict[str, Any]:
    """Mean, standard deviation and values of each metric over the seeds, with its signature."""
    first = next(iter(scores.values()))
    return {
        metric: {
            **summarize([own[metric].value for own in scores.values()]),
            "signature": first[metric].signature,
        }
        for metric in first
    }


def _lowercased(evaluations: Mapping[int, Evaluation]) -> dict[str, Any]:
    """Case-insensitive BLEU, as in the papers on Multi30k."""
    metric = BLEU(lowercase=True)
    values = [
        metric.corpus_score(own.translations, [own.references]).score
        for own in evaluations.values()
    ]
    return {**summarize(values), "signature": str(metric.get_signature())}


def summarize(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation and values, rounded."""
    deviation = stdev(values) if len(values) > 1 else 0.0
    return {
        "mean": round(mean(values), 2),
        "standard_deviation": round(deviation, 2),
        "values": [round(value, 2) for value in values],
    }
