"""Scores of models trained on real corpora: variants on validation, tasks on their tests."""

import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections import Counter
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
LENGTH_PENALTIES = 0.6, 1.0, 1.4  # candidates, chosen on validation
TEXTS = "texts"
DEVICE_TIMES = "device-times.jsonl"


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
    """The scores of the last checkpoint, and of the average of the last five if they were kept."""
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
    if len([step for step in steps_in(run) if step]) < 2:
        return figures
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


def distill(
    teachers: Mapping[str, Sequence[str]],
    out: Path,
    options: Sequence[str] = (),
    *,
    each: bool = False,
) -> None:
    """Translate the monolingual text of each task, all tasks at once, with a teacher or several.

    A teacher is a run or a pretrained model; several are an ensemble, or, if `each`, translate the
    text one by one, so that a sentence has a pair from each (Nguyen et al., 2020). The pairs are
    written beside the texts of the task, as `distilled`. A pretrained model gets the sentences
    without tags.
    """
    groups = {
        name: [[own] for own in models] if each else [models] for name, models in teachers.items()
    }
    processes = {
        (name, number): _translate(TASKS[name], models, out, options, number)
        for name, own in groups.items()
        for number, models in enumerate(own)
    }
    for (name, _), process in processes.items():
        if process.wait():
            raise SystemExit(f"{name}: the teacher failed")
    for name, own in groups.items():
        task = TASKS[name]
        texts = out / TEXTS / task.texts
        sources = (texts / f"monolingual.{task.source}").read_bytes() * len(own)
        (texts / f"{DISTILLED}.{task.source}").write_bytes(sources)
        parts = [texts / f"{DISTILLED}-{number}.{task.target}" for number in range(len(own))]
        translations = b"".join(part.read_bytes() for part in parts)
        (texts / f"{DISTILLED}.{task.target}").write_bytes(translations)


def _translate(
    task: Task, models: Sequence[str], out: Path, options: Sequence[str], number: int
) -> "subprocess.Popen[bytes]":
    """The process in which an ensemble translates the monolingual text of a task."""
    texts = out / TEXTS / task.texts
    sentences = texts / f"monolingual.{task.source}"
    runs = [out / model for model in models if (out / model).exists()]
    if not runs and (tags := {part.tag for part, _ in task.monolingual} - {""}):
        sentences = _without_tags(sentences, tags)
    first, *others = [str(last_checkpoint(run)) for run in runs] or models
    ensemble = [word for other in others for word in ("--with", other)]
    print(f"{task.texts}: {', '.join(models)} translate", flush=True)
    command = [sys.executable, "-m", "dhyan", "translate", first, *ensemble, str(sentences)]
    target = texts / f"{DISTILLED}-{number}.{task.target}"
    return subprocess.Popen([*command, *options, "-o", str(target)])


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
    """Score every test of every task with every seed, tasks side by side; the result file.

    A result file of the same day keeps the figures of other tasks.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(EVALUATIONS_AT_ONCE, context) as pool:
        tasks = {name: pool.submit(_score_task, name, seeds, out) for name in names}
        figures = {name: task.result() for name, task in tasks.items()}
    return _write("real-corpora", figures, results)


def _write(what: str, figures: Mapping[str, Any], results: Path) -> Path:
    """Write a result file; the one of the same day, if there is one, keeps its other figures."""
    earlier = {path: path.read_text(encoding="utf-8") for path in results.glob(f"{what}_*.json")}
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    path = write_device_result(what, dict(figures), accelerator=accelerator, folder=results)
    if path in earlier:
        result = json.loads(path.read_text(encoding="utf-8"))
        result["figures"] = {**json.loads(earlier[path])["figures"], **result["figures"]}
        path.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def record_device_time(call: str, runs: Mapping[str, int], out: Path) -> None:
    """Note that a call begins with so many runs of each task, or, without runs, that it ends."""
    entry = {"call": call, "runs": dict(runs), "time": time.time()}
    out.mkdir(parents=True, exist_ok=True)
    with (out / DEVICE_TIMES).open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(entry)}\n")


def device_seconds(name: str, out: Path) -> float:
    """The device's time for a task: each moment is shared equally by the runs of all calls."""
    lines = (out / DEVICE_TIMES).read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    times = [*(entry["time"] for entry in entries), time.time()]
    seconds, calls = 0.0, dict[str, Counter[str]]()
    for entry, start, end in zip(entries, times, times[1:], strict=False):
        calls[entry["call"]] = Counter(entry["runs"])
        runs = sum(calls.values(), Counter[str]())
        if runs:
            seconds += (end - start) * runs[name] / runs.total()
    return seconds


def _score_task(name: str, seeds: Sequence[int], out: Path) -> dict[str, Any]:
    task = TASKS[name]
    runs = {seed: out / f"{name}-{seed}" for seed in seeds}
    first, *_ = models = [last_checkpoint(run) for run in runs.values()]
    return {
        "recipe": task.recipe,
        "weights": dict(task.weights),
        "settings": dict(task.settings),
        "parameters": sum(weight.numel() for weight in dhyan.load(first).model.parameters()),
        "steps": {seed: max(steps_in(run)) for seed, run in runs.items()},
        "training_seconds": {
            seed: round(training_seconds(run, max(steps_in(run))), 1) for seed, run in runs.items()
        },
        "device_seconds": round(device_seconds(name, out), 1),
        "note": "trained side by side: seconds are longer than those of one run alone",
        "tests": {
            f"{test.corpus} {test.name}": _score_test(task, number, models, out)
            for number, test in enumerate(task.tests)
        },
    }


def _score_test(task: Task, number: int, models: Sequence[Path], out: Path) -> dict[str, Any]:
    """The scores of the models and of their ensemble on a test.

    The length penalty is the one that is best for the first model on the validation set beside it.
    """
    penalty = _best_length_penalty(models[0], out, f"valid-{number}", task)
    test = f"test-{number}"
    evaluations = [_evaluate(model, out, test, task, penalty) for model in models]
    ensemble = _evaluate(load_ensemble(models), out, test, task, penalty)
    return {
        **_summary([evaluation.scores for evaluation in evaluations]),
        "bleu_lowercased": _lowercased(evaluations),
        "ensemble": {
            key: {"value": round(own.value, 2), "signature": own.signature}
            for key, own in ensemble.scores.items()
        },
        "length_penalty": penalty,
    }


def _best_length_penalty(model: Path, out: Path, valid: str, task: Task) -> float:
    """The exponent of the length penalty with the highest BLEU on a validation set."""
    scores = {
        penalty: _evaluate(model, out, valid, task, penalty).scores["bleu"].value
        for penalty in LENGTH_PENALTIES
    }
    return max(scores, key=lambda penalty: scores[penalty])


def _evaluate(
    model: Path | Translator, out: Path, split: str, task: Task, length_penalty: float | None = None
) -> Evaluation:
    texts = out / TEXTS / task.texts
    files = str(texts / f"{split}.{task.source}"), str(texts / f"{split}.{task.target}")
    return dhyan.evaluate(
        str(model) if isinstance(model, Path) else model,
        files,
        ("bleu", "chrf"),
        length_penalty=length_penalty,
    )


def _summary(scores: Sequence[Mapping[str, Score]]) -> dict[str, Any]:
    """Mean, standard deviation and values of each metric over the seeds, with its signature."""
    return {
        metric: {
            **summarize([own[metric].value for own in scores]),
            "signature": first.signature,
        }
        for metric, first in scores[0].items()
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
