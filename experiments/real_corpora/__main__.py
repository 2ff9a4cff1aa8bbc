"""`python -m experiments.real_corpora train|tune|distill|score TASK…`: tasks on real corpora.

`train` trains every task with every seed, side by side on one GPU, for `--seconds`; called again, it
resumes. `tune` trains variants, tables `[TASK.VARIANT]` of settings in a TOML file, and scores the
validation set only. `distill` lets a teacher, one of these, translate the training sources and further
English sentences. `score` averages the last checkpoints of `train`, scores every test, and writes a
result file. A test is scored once, after all tuning.

In a variants file, a setting `mix` has the weights of the task's texts by name (`mix-0`, `primer`,
`distilled`) instead of `data.mix`.
"""

import argparse
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS
from experiments.real_corpora.measure import distill, score_tasks, score_variants
from experiments.real_corpora.tasks import TASKS, mix_setting
from experiments.side_by_side import Job, train_side_by_side

DATA = Path(os.environ.get("DHYAN_DATA") or "../shared/data")


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m experiments.real_corpora", description=__doc__)
    parser.add_argument("step", choices=("train", "tune", "distill", "score"))
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"default: all of {list(TASKS)}")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of corpora ($DHYAN_DATA)")
    parser.add_argument("--out", type=Path, default=Path("build/real-corpora"), help="runs, texts")
    parser.add_argument("--seconds", type=float, default=500, help="training time, of all at once")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--variants", type=Path, help="of tune: a TOML file, a table per variant")
    parser.add_argument("--teacher", help="of distill: a run [default: TASK-teacher]")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the result file")
    given = parser.parse_args()
    for name in given.tasks:
        if name not in TASKS:
            parser.error(f"no task {name!r}; there are {', '.join(TASKS)}")
    names, settings = given.tasks or list(TASKS), dict(text.split("=", 1) for text in given.set)
    if given.step == "score":
        print(score_tasks(names, given.seeds, given.out, given.results))
        return
    if given.step == "distill":
        for name in names:
            print(distill(name, given.out, given.teacher or f"{name}-teacher"), flush=True)
        return
    variants = tomllib.loads(given.variants.read_text(encoding="utf-8")) if given.variants else {}
    jobs, variants_of = [], {name: variants.get(name, {}) for name in names}
    for name in names:
        folder = TASKS[name].write(given.data, given.out / "texts" / name)
        texts, recipe = TASKS[name].settings(folder), str(TASKS[name].recipe_file)
        if given.step == "train":
            changes = {f"{seed}": {"training.seed": str(seed)} for seed in given.seeds}
        else:
            changes = {
                variant: _settings(own, folder, TASKS[name].target)
                for variant, own in variants_of[name].items()
            }
        jobs += [
            Job(f"{name}-{variant}", recipe, {**texts, **settings, **own})
            for variant, own in changes.items()
        ]
    failed = train_side_by_side(jobs, given.out, given.seconds)
    if given.step == "tune":
        trained = {
            name: {variant: own[variant] for variant in own if f"{name}-{variant}" not in failed}
            for name, own in variants_of.items()
        }
        print(score_variants(trained, given.out, given.results))
    if failed:
        sys.exit(1)


def _settings(variant: Mapping[str, Any], folder: Path, target: str) -> dict[str, str]:
    """The settings of a variant as `dhyan train --set` takes them."""
    mix = {} if "mix" not in variant else {"data.mix": mix_setting(folder, target, variant["mix"])}
    return mix | {key: str(value) for key, value in variant.items() if key != "mix"}


if __name__ == "__main__":
    main()
