"""Batch loaders: copy batches to the device directly, or prefetch them in a thread."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from dhyan.batch import Batch

PREFETCHED_BATCHES = 16


@runtime_checkable
class BatchStream(Protocol):
    """Training batches as a pure function of one integer."""

    def at(self, position: int) -> tuple[Batch, int]:
        """The batch at a position, and the next position."""
        ...

    def epoch(self, position: int) -> int:
        """The number of complete passes over the examples."""
        ...

    def example_ids(self, position: int) -> list[int]:
        """The numbers of the examples in the batch at a position."""
        ...


@dataclass(frozen=True)
class LoadedBatch:
    """A batch on the device, the number of its target tokens, and the next position."""

    batch: Batch
    tokens: int
    next_position: int


@runtime_checkable
class BatchLoader(Protocol):
    """Loads the batches of a stream onto a device."""

    def at(self, position: int) -> LoadedBatch:
        """The batch at a position."""
        ...

    def close(self) -> None:
        """Stop loading; no more batches are needed for now."""
        ...


@dataclass(frozen=True)
class DirectLoader:
    """Loads every batch when it is needed."""

    batches: BatchStream
    device: torch.device

    def at(self, position: int) -> LoadedBatch:
        """Load the batch at a position now."""
        batch, next_position = self.batches.at(position)
        return LoadedBatch(batch.to(self.device), batch.labels.count, next_position)

    def close(self) -> None:
        """Nothing to stop."""


@dataclass(frozen=True)
class PendingCopy:
    """A batch whose copy to the device is finished at the event `ready`."""

    loaded: LoadedBatch
    ready: torch.cuda.Event | None


class Prefetcher:
    """Loads batches in a background thread while steps are running, and copies them to the GPU.

    They are the same batches in the same order; an error in the thread is raised where its batch
    is requested.
    """

    def __init__(
        self, batches: BatchStream, device: torch.device, *, depth: int = PREFETCHED_BATCHES
    ) -> None:
        self.batches = batches
        self.device = device
        self.depth = depth
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._executor: ThreadPoolExecutor | None = None
        self._queue: deque[Future[PendingCopy]] = deque()
        self._next = -1

    def at(self, position: int) -> LoadedBatch:
        """The batch at a position, and start loading the ones after it."""
        if position != self._next or self._executor is None:
            self.close()
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="batches")
            self._queue.append(self._executor.submit(self._load, position))
        while len(self._queue) <= self.depth:
            self._queue.append(self._executor.submit(self._load_after, self._queue[-1]))
        copy = self._queue.popleft().result()
        if copy.ready is not None:
            self._wait_for(copy.loaded.batch, copy.ready)
        self._next = copy.loaded.next_position
        return copy.loaded

    def close(self) -> None:
        """End the thread; batches it loaded and nobody requested are dropped."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
        self._executor = None
        self._queue.clear()

    def _load_after(self, previous: Future[PendingCopy]) -> PendingCopy:
        return self._load(previous.result().loaded.next_position)

    def _load(self, position: int) -> PendingCopy:
        """Make a batch and start its copy, from pinned memory on a separate stream."""
        batch, next_position = self.batches.at(position)
        tokens = batch.labels.count
        if self.stream is None:
            return PendingCopy(LoadedBatch(batch.to(self.device), tokens, next_position), None)
        with torch.cuda.stream(self.stream):
            copy = batch.pinned().to(self.device)
            return PendingCopy(LoadedBatch(copy, tokens, next_position), self.stream.record_event())

    def _wait_for(self, batch: Batch, ready: torch.cuda.Event) -> None:
        """Let the stream of the steps wait for the copy, and keep it until the steps have read it."""
        steps = torch.cuda.current_stream(self.device)
        steps.wait_event(ready)
        for tensor in batch.tensors:
            tensor.record_stream(steps)
