"""Loaders: copy the batches of a step to the device directly, or prefetch them in a thread."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from dhyan.training.steps import StepBatches, Steps

PREFETCHED_STEPS = 16


@runtime_checkable
class StepLoader(Protocol):
    """Loads the micro-batches of steps onto a device."""

    def at(self, position: int) -> StepBatches:
        """The step that begins at a position."""
        ...

    def close(self) -> None:
        """Stop loading; no more steps are needed for now."""
        ...


@dataclass(frozen=True)
class DirectLoader:
    """Loads every step when it is needed."""

    steps: Steps
    device: torch.device

    def at(self, position: int) -> StepBatches:
        """Load the step at a position now."""
        return self.steps.at(position).to(self.device)

    def close(self) -> None:
        """Nothing to stop."""


@dataclass(frozen=True)
class PendingCopy:
    """A step whose copy to the device is finished at the event `ready`."""

    loaded: StepBatches
    ready: torch.cuda.Event | None


class Prefetcher:
    """Loads steps in a background thread while others are running, and copies them to the GPU.

    They are the same steps in the same order; an error in the thread is raised where its step
    is requested.
    """

    def __init__(
        self, steps: Steps, device: torch.device, *, depth: int = PREFETCHED_STEPS
    ) -> None:
        self.steps = steps
        self.device = device
        self.depth = depth
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._executor: ThreadPoolExecutor | None = None
        self._queue: deque[Future[PendingCopy]] = deque()
        self._next = -1

    def at(self, position: int) -> StepBatches:
        """The step at a position, and start loading the ones after it."""
        if position != self._next or self._executor is None:
            self.close()
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="batches")
            self._queue.append(self._executor.submit(self._load, position))
        while len(self._queue) <= self.depth:
            self._queue.append(self._executor.submit(self._load_after, self._queue[-1]))
        copy = self._queue.popleft().result()
        if copy.ready is not None:
            self._wait_for(copy.loaded, copy.ready)
        self._next = copy.loaded.next_position
        return copy.loaded

    def close(self) -> None:
        """End the thread; what it loaded and nobody requested is dropped."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
        self._executor = None
        self._queue.clear()

    def _load_after(self, previous: Future[PendingCopy]) -> PendingCopy:
        return self._load(previous.result().loaded.next_position)

    def _load(self, position: int) -> PendingCopy:
        """Make the batches of a step and start their copy, from pinned memory on a separate stream."""
        step = self.steps.at(position)
        if self.stream is None:
            return PendingCopy(step.to(self.device), None)
        with torch.cuda.stream(self.stream):
            return PendingCopy(step.pinned().to(self.device), self.stream.record_event())

    def _wait_for(self, loaded: StepBatches, ready: torch.cuda.Event) -> None:
        """Let the stream of the steps wait for the copy, and keep it until the steps have read it."""
        steps = torch.cuda.current_stream(self.device)
        steps.wait_event(ready)
        for tensor in loaded.tensors:
            tensor.record_stream(steps)
