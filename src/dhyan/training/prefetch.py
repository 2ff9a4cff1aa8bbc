"""How batches reach the device: one when it is asked for, or some ahead of the steps."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from dhyan.batch import Batch, Tokens

PREFETCHED_BATCHES = 16


@runtime_checkable
class BatchStream(Protocol):
    """Training batches as a pure function of one integer."""

    def at(self, position: int) -> tuple[Batch, int]:
        """The batch at a position, and the next position."""
        ...

    def epoch(self, position: int) -> int:
        """How often all examples have been seen."""
        ...

    def members(self, position: int) -> list[int]:
        """Which examples the batch at a position has."""
        ...


@dataclass(frozen=True)
class LoadedBatch:
    """A batch on its device, how many words it has to say, and the position after it."""

    batch: Batch
    tokens: int
    next_position: int


@runtime_checkable
class BatchLoader(Protocol):
    """Where a trainer has its batches from."""

    def at(self, position: int) -> LoadedBatch:
        """The batch at a position."""
        ...

    def close(self) -> None:
        """No more batches are needed for now."""
        ...


@dataclass(frozen=True)
class DirectLoader:
    """Every batch is made when it is asked for."""

    batches: BatchStream
    device: torch.device

    def at(self, position: int) -> LoadedBatch:
        """The batch at a position, made now."""
        batch, after = self.batches.at(position)
        return LoadedBatch(batch.to(self.device), batch.labels.count, after)

    def close(self) -> None:
        """Nothing is left over."""


@dataclass(frozen=True)
class PendingCopy:
    """A batch on its way to the device, which waits for `ready` before it reads it."""

    fed: LoadedBatch
    ready: torch.cuda.Event | None


class Prefetcher:
    """Batches are made, and sent to the GPU, by a thread of their own while steps are running.

    They are the same, in the same order; what goes wrong in the thread is raised where its batch is
    asked for.
    """

    def __init__(
        self, batches: BatchStream, device: torch.device, *, ahead: int = PREFETCHED_BATCHES
    ) -> None:
        self.batches = batches
        self.device = device
        self.ahead = ahead
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._maker: ThreadPoolExecutor | None = None
        self._sent: deque[Future[PendingCopy]] = deque()
        self._next = -1

    def at(self, position: int) -> LoadedBatch:
        """The batch at a position, which is most likely here; the next ones are begun."""
        if position != self._next or self._maker is None:
            self.close()
            self._maker = ThreadPoolExecutor(1, thread_name_prefix="batches")
            self._sent.append(self._maker.submit(self._send, position))
        while len(self._sent) <= self.ahead:
            self._sent.append(self._maker.submit(self._send_after, self._sent[-1]))
        sent = self._sent.popleft().result()
        if sent.ready is not None:
            self._receive(sent.fed.batch, sent.ready)
        self._next = sent.fed.next_position
        return sent.fed

    def close(self) -> None:
        """End the thread; what it made and nobody took is forgotten."""
        if self._maker is not None:
            self._maker.shutdown(wait=True, cancel_futures=True)
        self._maker = None
        self._sent.clear()

    def _send_after(self, before: Future[PendingCopy]) -> PendingCopy:
        return self._send(before.result().fed.next_position)

    def _send(self, position: int) -> PendingCopy:
        """Make a batch and begin to copy it: from pinned memory, on a stream of its own."""
        batch, after = self.batches.at(position)
        tokens = batch.labels.count
        if self.stream is None:
            return PendingCopy(LoadedBatch(batch.to(self.device), tokens, after), None)
        with torch.cuda.stream(self.stream):
            there = Batch(_pinned(batch.source), _pinned(batch.target)).to(self.device)
            return PendingCopy(LoadedBatch(there, tokens, after), self.stream.record_event())

    def _receive(self, batch: Batch, ready: torch.cuda.Event) -> None:
        """Let the stream of the steps wait for the copies, and keep them until it has read them."""
        steps = torch.cuda.current_stream(self.device)
        steps.wait_event(ready)
        for tokens in (batch.source, batch.target):
            tokens.ids.record_stream(steps)
            tokens.mask.record_stream(steps)


def _pinned(tokens: Tokens) -> Tokens:
    return Tokens(tokens.ids.pin_memory(), tokens.mask.pin_memory())
