"""Servers to be measured, and what they are asked."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from dhyan.checkpoint import find_checkpoint
from dhyan.config import load_recipe
from dhyan.data.primer import generate_sentences

MADE = 8000


def sentences() -> list[str]:
    """Different ones of the primer, none of which any model was trained on."""
    made = islice(generate_sentences("random", longest=15), MADE)
    return list(dict.fromkeys(twin.english for twin in made))


def pinned(model: Path) -> dict[str, Any]:
    """Options of `fixed_latency_server` for a real model on the first core."""
    command = [*on(0), sys.executable, "-m", "dhyan.serving.worker"]
    load = {"folder": str(model.resolve()), "device": "cpu", "threads": 1}
    return {"command": command, "load": load}


def on(core: int) -> list[str]:
    """Words before a command that is to run on one core."""
    return ["taskset", "-c", str(core)]


def about(model: Path) -> dict[str, Any]:
    """What a model is."""
    recipe = load_recipe(str(find_checkpoint(model) / "recipe.toml"))
    return {"about": recipe.about, "beam": recipe.decoding.beam}


@contextmanager
def served(given: dict[str, Any]) -> Iterator[int]:
    """The port of a server that is ready; it ends with the block."""
    away = on(1) if (os.cpu_count() or 1) > 1 and "command" in given else []
    process = subprocess.Popen(
        [*away, sys.executable, "-m", "benchmarks.fixed_latency_server", json.dumps(given)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found
        _until_ready(int(found[1]))
        yield int(found[1])
    finally:
        process.terminate()
        process.wait()


def _until_ready(port: int, within: float = 120.0) -> None:
    until = time.monotonic() + within
    while time.monotonic() < until:
        with suppress(urllib.error.URLError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
            return
        time.sleep(0.1)
    raise TimeoutError("the server is not ready")
