"""CUDA graphs: capture work on fixed tensors once, and replay it without Python between kernels."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def run_on_stream(stream: torch.cuda.Stream, device: torch.device) -> Iterator[None]:
    """Run the block on another stream; it waits for the current one, which then waits for it."""
    current = torch.cuda.current_stream(device)
    stream.wait_stream(current)
    try:
        with torch.cuda.stream(stream):
            yield
    finally:
        current.wait_stream(stream)


def capture(
    work: Callable[[], None],
    *,
    pool: Any = None,
    stream: torch.cuda.Stream | None = None,
    error_mode: str = "global",
) -> torch.cuda.CUDAGraph:
    """A graph of the kernels that the work launches; graphs of one pool share their memory."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode=error_mode):
        work()
    return graph


class GraphedCall:
    """Work that is done many times on the same tensors; after `capture` it is replayed on a GPU.

    The work runs twice before it is captured, so at that moment it must do no harm.
    """

    def __init__(self, work: Callable[[], None], device: torch.device) -> None:
        self.work, self.device = work, device
        self.graph: torch.cuda.CUDAGraph | None = None

    def capture(self, pool: Any = None) -> None:
        """Capture the work; nothing happens without a GPU."""
        if self.device.type != "cuda" or self.graph is not None:
            return
        with run_on_stream(torch.cuda.Stream(self.device), self.device):
            for _ in range(2):
                self.work()
        self.graph = capture(self.work, pool=pool)

    def __call__(self) -> None:
        """Do the work."""
        if self.graph is None:
            self.work()
        else:
            self.graph.replay()
