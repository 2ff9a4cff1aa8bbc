"""Another toolkit's own training, stopped between bursts of steps: run by its Python, without dhyan.

`python cpu_training_peer.py eole|onmt THREADS CONFIG.yaml`; for each line of input it takes a burst
of so many steps, and writes its target tokens and seconds, by the clock and of its threads.
"""

import importlib
import json
import sys
import time
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

ENTRIES = {"eole": ("eole.bin.main", ["train", "-config"]), "onmt": ("onmt.bin.train", ["-config"])}
OUTPUT = sys.stdout


class Bursts:
    """Counts steps and target tokens, and waits for the next burst."""

    def __init__(self) -> None:
        self.tokens, self.steps_left = 0, 0
        self.start = (0.0, 0.0)

    def wait(self) -> None:
        """Wait for the number of steps of the next burst."""
        line = sys.stdin.readline()
        if not line:
            sys.exit()
        self.tokens, self.steps_left = 0, int(line)
        self.start = (time.perf_counter(), time.process_time())

    def stepped(self, *_: Any) -> None:
        """Count a step; the last of a burst is reported."""
        self.steps_left -= 1
        if self.steps_left:
            return
        seconds = time.perf_counter() - self.start[0], time.process_time() - self.start[1]
        print(json.dumps([self.tokens, *seconds]), file=OUTPUT, flush=True)
        self.wait()


def train(package: str, threads: int, config: str) -> None:
    """Run the toolkit's own training with a hook after every step and one before every loss."""
    torch.set_num_threads(threads)
    module, arguments = ENTRIES[package]
    main = importlib.import_module(module).main
    loss = importlib.import_module(f"{package}.utils.loss").LossCompute
    forward, bursts = loss.forward, Bursts()

    def counting(self: Any, batch: Any, *more: Any, **settings: Any) -> Any:
        target = batch["tgt"]
        labels = target[:, 1:, 0] if target.dim() == 3 else target[:, 1:]
        bursts.tokens += int((labels != self.padding_idx).sum())
        return forward(self, batch, *more, **settings)

    loss.forward = counting
    register_optimizer_step_post_hook(bursts.stepped)
    sys.argv = [package, *arguments, config]
    sys.stdout = sys.stderr  # its own messages
    bursts.wait()
    main()


if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]), sys.argv[3])
