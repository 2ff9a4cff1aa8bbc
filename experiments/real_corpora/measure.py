"""Scores of models trained on real corpora: variants on validation, tasks on their tests."""

import json
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
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
from dhyan.decoding.translator import Translator
from dhyan.evaluation.metrics import Score
from dhyan.run.average_checkpoints import newest
from dhyan.run.load import load_ensemble
from experiments.real_corpora.tasks import DISTILLED, TASKS, Task
from experiments.side_by_side import averaged_model

EVALUATIONS_AT_ONCE = 8
TEXTS = "texts"


def score_variants(variants: Mapping[str, Mapping[str, Any]], out: Path, results: Path) -> Path:
    """Score each variant of each task on its validation sets, several at once; the result file."""
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
    """The scores of the last checkpoint, and of the average of the last five."""
    run, task = out / f"{name}-{variant}", TASKS[name]
    step = max(steps_in(run))
    figures: dict[str, Any] = {
        "step": step,
        "training_seconds": round(training_seconds(run, step), 1),
    }
    for number, split in enumerate(task.valid_sets):
        scores = _evaluate(last_checkpoint(run), out, f"valid-{number}", task).scores
        figures[f"{split.corpus} {split.name}"] = {
            **{metric: round(score.value, 2) for metric, score in scores.items()},
            "signature": scores["bleu"].signature,
        }
    with tempfile.TemporaryDirectory(dir=out) as temporary:
        averaged = averaged_model(run, Path(temporary) / "average")
        scores = _evaluate(averaged, out, "valid-0", task).scores
        figures["averaged"] = {key: round(own.value, 2) for key, own in scores.items()}
    return figures


def last_checkpoint(run: Path) -> Path:
    """The newest checkpoint of a run: after a cosine schedule better than an average."""
    return newest(run, 1)[0]


def best_variant(name: str, scores: Path) -> str:
    """The run of a task with the best BLEU on its validation set, by a result of tuning."""
    variants = json.loads(scores.read_text(encoding="utf-8"))["figures"][name]
    valid = f"{TASKS[name].valid.corpus} {TASKS[name].valid.name}"
    return f"{name}-{max(variants, key=lambda variant: variants[variant][valid]['bleu'])}"


def distill(teachers: Mapping[str, Sequence[str]], out: Path, options: Sequence[str] = ()) -> None:
    """Translate the monolingual text of each task, all tasks at once, with a teacher or several.

    A teacher is a run or a pretrained model; several are an ensemble. The pairs are written beside
    the texts of the task, as `distilled`. A pretrained model gets the sentences without tags.
    """
    processes = []
    for name, models in teachers.items():
        task = TASKS[name]
        texts = out / TEXTS / task.texts
        sentences = texts / f"monolingual.{task.source}"
        shutil.copyfile(sentences, texts / f"{DISTILLED}.{task.source}")
        runs = [out / model for model in models if (out / model).exists()]
        if not runs and (tags := {part.tag for part, _ in task.monolingual} - {""}):
            sentences = _without_tags(sentences, tags)
        first, *others = [str(last_checkpoint(run)) for run in runs] or models
        ensemble = [word for other in others for word in ("--with", other)]
        command = [sys.executable, "-m", "dhyan", "translate", first, *ensemble, str(sentences)]
        target = texts / f"{DISTILLED}.{task.target}"
        print(f"{name}: {', '.join(models)} translate", flush=True)
        processes.append(subprocess.Popen([*command, *options, "-o", str(target)]))
    for name, process in zip(teachers, processes, strict=True):
        if process.wait():
            raise SystemExit(f"{name}: the teacher failed")


def _without_tags(sentences: Path, tags: Collection[str]) -> Path:
    """A copy of a text without the tags of its lines."""
    plain = sentences.with_name(f"untagged-{sentences.name}")
    words = (line.partition(" ") for line in sentences.read_text("utf-8").splitlines())
    lines = (rest if tag in tags else f"{tag} {rest}" for tag, _, rest in words)
    plain.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return plain


def choose_tag(name: str, seed: int, out: Path) -> dict[str, float]:
    """Give the last test, of a domain without a tag of its own, the tag that validates best.

    Tags are compared by chrF++ of the last validation set, which is of the same kind; its file and
    the test's are rewritten with the best one.
    """
    task, texts = TASKS[name], out / TEXTS / TASKS[name].texts
    valid = f"valid-{len(task.valid_sets) - 1}"
    test = texts / f"test-{len(task.tests) - 1}.en"
    scores = {}
    for tag in sorted({split.tag for split in task.train}):
        _retag(texts / f"{valid}.en", tag)
        model = last_checkpoint(out / f"{name}-{seed}")
        scores[tag] = _evaluate(model, out, valid, task).scores["chrf"].value
        print(name, tag, round(scores[tag], 2), flush=True)
    best = max(scores, key=lambda tag: scores[tag])
    for file in (texts / f"{valid}.en", test):
        _retag(file, best)
    return scores


def _retag(file: Path, tag: str) -> None:
    """Replace the first word of every line."""
    lines = (line.partition(" ")[2] for line in file.read_text("utf-8").splitlines())
    file.write_text("".join(f"{tag} {line}\n" for line in lines), encoding="utf-8")


def score_tasks(names: Sequence[str], seeds: Sequence[int], out: Path, results: Path) -> Path:
    """Score every test of every task with every seed, tasks side by side; the result file."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(EVALUATIONS_AT_ONCE, context) as pool:
        tasks = {name: pool.submit(_score_task, name, seeds, out) for name in names}
        figures = {name: task.result() for name, task in tasks.items()}
    return _write("real-corpora", figures, results)


def _write(what: str, figures: Mapping[str, Any], results: Path) -> Path:
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return write_device_result(what, dict(figures), accelerator=accelerator, folder=results)


def _score_task(name: str, seeds: Sequence[int], out: Path) -> dict[str, Any]:
    task, runs = TASKS[name], {seed: out / f"{name}-{seed}" for seed in seeds}
    evaluations = {
        seed: [
            _evaluate(last_checkpoint(run), out, f"test-{number}", task)
            for number in range(len(task.tests))
        ]
        for seed, run in runs.items()
    }
    model = dhyan.load(runs[seeds[0]]).model
    ensemble = load_ensemble([last_checkpoint(run) for run in runs.values()])
    return {
        "recipe": task.recipe,
        "weights": dict(task.weights),
        "settings": dict(task.settings),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "steps": {seed: max(steps_in(run)) for seed, run in runs.items()},
        "training_seconds": {
            seed: round(training_seconds(run, max(steps_in(run))), 1) for seed, run in runs.items()
        },
        "note": "trained side by side: seconds are longer than those of one run alone",
        "tests": {
            f"{test.corpus} {test.name}": {
                **_summary({seed: own[number].scores for seed, own in evaluations.items()}),
                "bleu_lowercased": _lowercased([own[number] for own in evaluations.values()]),
                "ensemble": {
                    key: {"value": round(own.value, 2), "signature": own.signature}
                    for key, own in _evaluate(ensemble, out, f"test-{number}", task).scores.items()
                },
            }
            for number, test in enumerate(task.tests)
        },
    }


def _evaluate(model: Path | Translator, out: Path, split: str, task: Task) -> Evaluation:
    texts = out / TEXTS / task.texts
    files = str(texts / f"{split}.{task.source}"), str(texts / f"{split}.{task.target}")
    return dhyan.evaluate(str(model) if isinstance(model, Path) else model, files, ("bleu", "chrf"))


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


def _lowercased(evaluations: Iterable[Evaluation]) -> dict[str, Any]:
    """Case-insensitive BLEU, as in the papers on Multi30k."""
    metric = BLEU(lowercase=True)
    values = [metric.corpus_score(own.translations, [own.references]).score for own in evaluations]
    return {**summarize(values), "signature": str(metric.get_signature())}


def summarize(values: Sequence[float]) -> dict[str, Any]:
    """Mean, standard deviation and values, rounded."""
    deviation = stdev(values) if len(values) > 1 else 0.0
    return {
        "mean": round(mean(values), 2),
        "standard_deviation": round(deviation, 2),
        "values": [round(value, 2) for value in values],
    }
