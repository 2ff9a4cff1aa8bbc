"""Training in a process of its own, in bursts on request, so that several can be measured in turn."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ENDLESS = {
    "training.steps": 1_000_000,
    "training.validate_every": 1_000_000,
    "training.save_every": 1_000_000,
    "training.valid_sentences": 0,
    "training.early_stopping_metric": "loss",
}  # a training without validation or checkpoint


class TrainingWorker:
    """A process that trains a burst of steps whenever it is asked to.

    With `compiled` off, BPE dropout is sampled in Python.
    """

    def __init__(
        self,
        recipe: str,
        settings: Mapping[str, Any],
        *,
        device: str = "cpu",
        threads: int = 0,
        environment: Mapping[str, str] | None = None,
        compiled: bool = True,
    ) -> None:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("OMP_")}
        options = {
            "recipe": recipe,
            "settings": {**ENDLESS, **settings},
            "device": device,
            "threads": threads,
            "compiled": compiled,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.training_worker", json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**inherited, **(environment or {})},
        )

    def start(self, seconds: float) -> None:
        """Begin a burst, which ends with the first report after so many seconds."""
        assert self.process.stdin
        print(seconds, file=self.process.stdin, flush=True)

    def result(self) -> float:
        """Target tokens per second of the burst that was begun."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the training ended; its error stands above")
        return float(line)

    def burst(self) -> float:
        """Train up to the next report; target tokens per second."""
        self.start(0)
        return self.result()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def _train(options: dict[str, Any]) -> None:
    """The training process: a burst for each line of input, which is its length in seconds."""
    from dhyan.config import load_recipe
    from dhyan.run import train
    from dhyan.text import bpe_dropout
    from dhyan.training.events import Stepped

    if not options["compiled"]:
        bpe_dropout.has_library = lambda: False  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as folder:
        recipe = load_recipe(options["recipe"], options["settings"])
        events = iter(
            train(
                recipe,
                Path(folder) / "run",
                device=options["device"],
                threads=options["threads"],
            )
        )
        for line in sys.stdin:
            tokens, seconds = 0, 0.0
            while not seconds or seconds < float(line):
                event = next(event for event in events if isinstance(event, Stepped))
                tokens += event.tokens
                seconds += event.seconds
            print(tokens / seconds, flush=True)


if __name__ == "__main__":
    _train(json.loads(sys.argv[1]))
