"""`python -m experiments.real_corpora train|tune|score TASK…`: translation tasks on real corpora.

`train` trains every task with every seed, side by side on one GPU, for `--seconds`; called again, it
resumes. `tune` trains variants of one task, tables of settings in a TOML file, and scores the
validation set only. `score` averages the last checkpoints of `train`, scores every test, and writes a
result file. A test is scored once, after all tuning.
"""

import argparse
import os
import tomllib
from pathlib import Path

from benchmarks.report import RESULTS
from experiments.real_corpora.measure import score_tasks, score_variants
from experiments.real_corpora.tasks import TASKS
from experiments.side_by_side import Job, train_side_by_side

DATA = Path(os.environ.get("DHYAN_DATA") or "../shared/data")


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m experiments.real_corpora", description=__doc__)
    parser.add_argument("step", choices=("train", "tune", "score"))
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"default: all of {list(TASKS)}")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of corpora ($DHYAN_DATA)")
    parser.add_argument("--out", type=Path, default=Path("build/real-corpora"), help="runs, texts")
    parser.add_argument("--seconds", type=float, default=500, help="training time, of all at once")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--variants", type=Path, help="of tune: a TOML file, a table per variant")
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
    jobs = []
    for name in names:
        texts = TASKS[name].settings(TASKS[name].write(given.data, given.out / "texts" / name))
        recipe = str(TASKS[name].recipe_file)
        if given.step == "train":
            jobs += [
                Job(f"{name}-{seed}", recipe, {**texts, **settings, "training.seed": str(seed)})
                for seed in given.seeds
            ]
        else:
            variants = tomllib.loads(given.variants.read_text(encoding="utf-8"))
            jobs += [
                Job(f"{name}-{variant}", recipe, {**texts, **settings, **changes})
                for variant, changes in variants.items()
            ]
    train_side_by_side(jobs, given.out, given.seconds)
    if given.step == "tune":
        for line in score_variants(names, list(variants), given.out):
            print(line, flush=True)


if __name__ == "__main__":
    main()
