"""Work that is done many times over on the same tensors: on a GPU, captured once and replayed."""

from collections.abc import Callable
from typing import Any

import torch


class Captured:
    """Call it to do the work; on a GPU the first call captures it, and every call replays it.

    The work is done twice before it is captured, so it must do no harm at that moment.
    """

    def __init__(self, work: Callable[[], None], device: torch.device) -> None:
        self.work, self.device = work, device
        self.graph: torch.cuda.CUDAGraph | None = None

    def prepare(self, pool: Any = None) -> None:
        """Capture it now, if there is anything to capture with."""
        if self.device.type != "cuda" or self.graph is not None:
            return
        aside = torch.cuda.Stream(self.device)
        aside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(aside):
            for _ in range(2):
                self.work()
        torch.cuda.current_stream(self.device).wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            self.work()
        self.graph = graph

    def __call__(self) -> None:
        """Do the work."""
        if self.graph is None:
            self.work()
        else:
            self.graph.replay()
