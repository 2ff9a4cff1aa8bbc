"""Several trainings side by side, each a process of its own; what is done is not done again."""

import json
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

Runs = Mapping[str, tuple[str, Mapping[str, Any]]]
"""A recipe and the settings laid over it, for every name."""


def train_all(runs: Runs, folder: Path, *, jobs: int) -> None:
    """Train each run into a folder of its name, so many at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda name: _train(folder / name, *runs[name]), runs))


def command_of(recipe: str, settings: Mapping[str, Any], out: str | Path) -> list[str]:
    """The command that trains it, as a reader would type it."""
    words = ["dhyan", "train", recipe, "--out", str(out)]
    for name, value in settings.items():
        told = str(value).lower() if isinstance(value, bool) else value
        words += ["--set", f"{name}={told}"]
    return words


def _train(run: Path, recipe: str, settings: Mapping[str, Any]) -> None:
    if (run / "done.json").exists():
        return
    words = [sys.executable, "-m", *command_of(recipe, settings, run), "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    print(run.name, (done.stdout + done.stderr).strip()[-300:], file=sys.stderr, flush=True)
    done.check_returncode()
    (run / "done.json").write_text(json.dumps(settings), encoding="utf-8")
