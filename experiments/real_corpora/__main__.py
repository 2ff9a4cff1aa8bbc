"""`python -m experiments.real_corpora tune|distill|train|tag|score TASK…`: tasks on real corpora.

`tune` trains variants, tables `[TASK.VARIANT]` of settings in a TOML file, and scores them on the
validation sets. `distill` lets a teacher translate the training sources and further sentences:
`--teacher` names runs or a pretrained model, else it is the variant that is best on the validation
set; several are an ensemble, and with `--each` they translate one by one; `{task}` in a name stands
for the task. The reversed tasks (`multi30k-de-en`) translate targets back, with `--sample` by
sampling. `train` trains every task with every seed, side by side on one GPU, for `--seconds`; called
again, it resumes. Its `--settings` are tried before they become those of the task. `tag` chooses
the domain tag of a test from another domain by the last validation set. `score` scores the last
checkpoints of `train` and their ensemble on every test, with the length penalty that is best on
validation, and writes a result file. A test is scored once, after all tuning.

In these files, a setting `mix` has the weights of the task's texts by name (`tatoeba`, `primer`,
`distilled`) instead of `data.mix`.
"""

import argparse
import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, newest
from experiments.real_corpora.measure import (
    TEXTS,
    best_variant,
    choose_tag,
    distill,
    record_device_time,
    score_tasks,
    score_variants,
)
from experiments.real_corpora.tasks import TASKS
from experiments.side_by_side import Job, train_side_by_side

DATA = Path(os.environ.get("DHYAN_DATA") or "../shared/data")


def parse_arguments() -> argparse.Namespace:
    """The step, the tasks and the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.real_corpora", description=__doc__)
    parser.add_argument("step", choices=("tune", "distill", "train", "tag", "score"))
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"default: all of {list(TASKS)}")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of corpora ($DHYAN_DATA)")
    parser.add_argument("--out", type=Path, default=Path("build/real-corpora"), help="runs, texts")
    parser.add_argument("--seconds", type=float, default=500, help="training time, of all at once")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--variants", type=Path, help="of tune: a TOML file, a table per variant")
    parser.add_argument("--settings", type=Path, help="of train: a TOML file, a table per task")
    parser.add_argument("--teacher", nargs="+", help="of distill: runs or a pretrained model")
    parser.add_argument("--each", action="store_true", help="of distill: a pair of every teacher")
    parser.add_argument("--sample", action="store_true", help="of distill: sampling, not a beam")
    parser.add_argument("--beam", type=int, default=5, help="of distill: beam size")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result file")
    given = parser.parse_args()
    for name in given.tasks:
        if name not in TASKS:
            parser.error(f"no task {name!r}; there are {', '.join(TASKS)}")
    return given


def main() -> None:
    """Run the step that the command line names."""
    given = parse_arguments()
    names = given.tasks or list(TASKS)
    for name in names:
        TASKS[name].write(given.data, given.out / TEXTS)
    settings = dict(text.split("=", 1) for text in given.set)
    match given.step:
        case "tune":
            tables = tomllib.loads(given.variants.read_text(encoding="utf-8"))
            variants = {name: tables.get(name, {}) for name in names}
            tune(variants, settings, given)
        case "distill":
            options = ["--sample"] if given.sample else ["--beam", str(given.beam)]
            with _device_time(names, given.out):
                distill(_teachers(names, given), given.out, options, each=given.each)
        case "train":
            tables = tomllib.loads(given.settings.read_text("utf-8")) if given.settings else {}
            jobs = [
                _job(name, str(seed), {**settings, **own, "training.seed": str(seed)}, given.out)
                for name in names
                for own in [_settings(tables.get(name, {}), name, given.out)]
                for seed in given.seeds
            ]
            with _device_time([name for name in names for _ in given.seeds], given.out):
                failed = train_side_by_side(jobs, given.out, given.seconds)
            if failed:
                sys.exit(1)
        case "tag":
            for name in names:
                choose_tag(name, given.seeds[0], given.out)
        case "score":
            print(score_tasks(names, given.seeds, given.out, given.results))


@contextmanager
def _device_time(names: Sequence[str], out: Path) -> Iterator[None]:
    """Record when a call begins and ends, for the task of each of its runs."""
    call = f"{os.getpid()}-{time.monotonic_ns()}"
    record_device_time(call, Counter(names), out)
    yield
    record_device_time(call, {}, out)


def _teachers(names: Sequence[str], given: argparse.Namespace) -> dict[str, list[str]]:
    """The models that translate for each task: those named, else its best variant."""
    if given.teacher:
        return {name: [text.replace("{task}", name) for text in given.teacher] for name in names}
    scores = newest("real-corpora-tuning", given.results)
    return {name: [best_variant(name, scores)] for name in names}


def tune(
    variants: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, str],
    given: argparse.Namespace,
) -> None:
    """Train every variant of each task, and score those that trained on the validation sets."""
    jobs = [
        _job(name, variant, {**settings, **_settings(changes, name, given.out)}, given.out)
        for name, own in variants.items()
        for variant, changes in own.items()
    ]
    with _device_time(
        [f"variants of {name}" for name, own in variants.items() for _ in own], given.out
    ):
        failed = train_side_by_side(jobs, given.out, given.seconds)
    trained = {
        name: {variant: own[variant] for variant in own if f"{name}-{variant}" not in failed}
        for name, own in variants.items()
    }
    print(score_variants(trained, given.out, given.results))
    if failed:
        sys.exit(1)


def _job(name: str, run: str, settings: Mapping[str, str], out: Path) -> Job:
    """A run of a task with its recipe and its texts."""
    task = TASKS[name]
    texts = task.train_settings(out / TEXTS / task.texts)
    return Job(f"{name}-{run}", task.recipe, {**texts, **settings})


def _settings(variant: Mapping[str, Any], name: str, out: Path) -> dict[str, str]:
    """The settings of a variant as `dhyan train --set` takes them."""
    task = TASKS[name]
    settings = {key: str(value) for key, value in variant.items() if key != "mix"}
    if "mix" in variant:
        folder = out / TEXTS / task.texts
        settings["data.mix"] = task.mix_setting(folder, variant["mix"])
    return settings


if __name__ == "__main__":
    main()
