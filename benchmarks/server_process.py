"""Server processes for the serving benchmark, and the sentences they translate."""

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

SENTENCES = 8000


def sentences() -> list[str]:
    """Distinct held-out sentences of the primer."""
    pairs = islice(generate_sentences("random", max_words=15), SENTENCES)
    return list(dict.fromkeys(pair.english for pair in pairs))


def pinned_worker(model: Path) -> dict[str, Any]:
    """Options of `fixed_latency_server` for a real model, its worker pinned to the first core."""
    command = [*pin_to(0), sys.executable, "-m", "dhyan.serving.worker"]
    load = {"folder": str(model.resolve()), "device": "cpu", "threads": 1}
    return {"command": command, "load": load}


def pin_to(core: int) -> list[str]:
    """Prefix of a command that runs it on one core."""
    return ["taskset", "-c", str(core)]


def describe_model(model: Path) -> dict[str, Any]:
    """Description and beam size of a model."""
    recipe = load_recipe(str(find_checkpoint(model) / "recipe.toml"))
    return {"about": recipe.about, "beam": recipe.decoding.beam}


@contextmanager
def running_server(options: dict[str, Any]) -> Iterator[int]:
    """Start a server; yield its port once it is ready, and stop it after the block."""
    prefix = pin_to(1) if (os.cpu_count() or 1) > 1 and "command" in options else []
    process = subprocess.Popen(
        [*prefix, sys.executable, "-m", "benchmarks.fixed_latency_server", json.dumps(options)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        address = re.search(r":(\d+)/", process.stdout.readline())
        assert address
        port = int(address[1])
        _wait_until_ready(port)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(port: int, timeout: float = 120.0) -> None:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        with suppress(urllib.error.URLError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
            return
        time.sleep(0.1)
    raise TimeoutError(f"port {port}: the server is not ready after {timeout:g} s")
