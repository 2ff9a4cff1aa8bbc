"""`python -m experiments.tasks.gpu train|pack OUT [NAME…]`: all tasks side by side on one GPU.

`train` trains every run of `gpu.toml`, or those of the named tasks, for `--seconds`; called again, it
resumes them. Their texts, pictures and sounds are in OUT, carried there: `texts`, `ocr`, `speech`.
`pack` writes the best checkpoint of each run, without what training needs, as `--packed`/NAME.tar.
"""

import argparse
import json
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dhyan.run.slim_export import write_slim
from experiments.side_by_side import Job, train_side_by_side
from experiments.tasks.text_scores import DATA, text_jobs

SETTINGS = Path(__file__).parent / "gpu.toml"
RECIPE, SEEDS = "recipe", "seeds"  # keys of a task that are no settings


def jobs_of(name: str, table: Mapping[str, Any], out: Path, data: Path = DATA) -> list[Job]:
    """The runs of a task, `NAME-SEED`, one for each seed."""
    settings = {
        key: as_setting(value, out) for key, value in table.items() if key not in (RECIPE, SEEDS)
    }
    if RECIPE not in table:
        return text_jobs(name, data, out, table[SEEDS], settings)
    return [
        Job(f"{name}-{seed}", table[RECIPE], {**settings, "training.seed": str(seed)})
        for seed in table[SEEDS]
    ]


def as_setting(value: Any, out: Path) -> str:
    """A value of `gpu.toml` as `--set` takes it."""
    match value:
        case str():
            return value.format(out=out)
        case dict():
            items = ", ".join(f"{key} = {json.dumps(own)}" for key, own in value.items())
            return f"{{ {items} }}"
        case _:
            return json.dumps(value)


def pack(runs: list[str], out: Path, packed: Path) -> None:
    """Write a slim model of each run as a .tar."""
    packed.mkdir(parents=True, exist_ok=True)
    for run in runs:
        with tempfile.TemporaryDirectory() as temporary:
            folder = write_slim(out / run, Path(temporary) / run, precision="float16")
            with tarfile.open(packed / f"{run}.tar", "w") as file:
                file.add(folder, arcname=run)


def main() -> None:
    """Train or pack the runs."""
    tables = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(prog="python -m experiments.tasks.gpu", description=__doc__)
    parser.add_argument("step", choices=("train", "pack"))
    parser.add_argument("out", type=Path, help="folder of runs, texts, pictures and sounds")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {list(tables)}")
    parser.add_argument("--seconds", type=float, default=500, help="training time, of all at once")
    parser.add_argument("--packed", type=Path, default=Path("packed"), help="where pack writes")
    given = parser.parse_args()
    if unknown := set(given.names) - set(tables):
        parser.error(f"no task {', '.join(sorted(unknown))}; there are {', '.join(tables)}")
    jobs = [job for name in given.names or tables for job in jobs_of(name, tables[name], given.out)]
    if given.step == "pack":
        pack([job.name for job in jobs], given.out, given.packed)
        return
    sys.exit(bool(train_side_by_side(jobs, given.out, given.seconds)))


if __name__ == "__main__":
    main()
