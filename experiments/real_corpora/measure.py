"""Scores of models trained on real corpora: variants on validation, tasks on their tests."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
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

COMMAND = "for step in train score; do python -m experiments.real_corpora $step {name}; done"


def score_variants(names: Sequence[str], variants: Sequence[str], out: Path) -> Iterator[str]:
    """BLEU and chrF++ of each variant on the validation set of its task, as lines."""
    for name in names:
        for variant in variants:
            run = out / f"{name}-{variant}"
            scores = _evaluate(run, out / "texts" / name, "valid", TASKS[name].target).scores
            values = "  ".join(f"{score.name} {score.value:.2f}" for score in scores.values())
            yield f"{name} {variant}: step {max(steps_in(run)):,}  {values}"


def score_tasks(names: Sequence[str], seeds: Sequence[int], out: Path, results: Path) -> Path:
    """Score every test of every task with every seed, and write the result file."""
    figures = {name: _score_task(name, seeds, out) for name in names}
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return write_device_result("real-corpora", figures, accelerator=accelerator, folder=results)


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
