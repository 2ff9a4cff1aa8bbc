"""The micro-batches of each step: which of them this process computes, and where the next begins."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from dhyan.batch import Batch
from dhyan.training.data_parallel import DataParallel


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


@runtime_checkable
class SizedBatchStream(BatchStream, Protocol):
    """A stream that knows the sizes of batches without making them, for several processes."""

    def size_at(self, position: int) -> tuple[int, int]:
        """The number of labels of the batch at a position, and the next position."""
        ...


@dataclass(frozen=True)
class MicroBatch:
    """A batch of a step, or a part of one.

    `path` is its number among those of all processes, and the halves it was split into when memory
    ran out; its random numbers follow from it.
    """

    batch: Batch
    path: tuple[int, ...]

    def halves(self) -> Iterator["MicroBatch"]:
        """The micro-batch in two, by rows; a single row stays whole."""
        for number, half in enumerate(split_rows(self.batch, 2)):
            yield MicroBatch(half, (*self.path, number))


def split_rows(batch: Batch, parts: int) -> Iterator[Batch]:
    """A batch in parts of almost as many rows, the longer ones first; none is empty."""
    rows, start = len(batch.source), 0
    for part in range(parts):
        end = start + -(-(rows - start) // (parts - part))
        if start < end:
            yield Batch(
                batch.source.select(slice(start, end)), batch.target.select(slice(start, end))
            )
        start = end


@dataclass(frozen=True)
class StepBatches:
    """What this process computes of a step.

    `positions` are those of all batches of the step, whoever computes them, and `tokens` the number
    of their labels.
    """

    micro_batches: tuple[MicroBatch, ...]
    positions: tuple[int, ...]
    tokens: int
    next_position: int

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors of the micro-batches."""
        return tuple(tensor for part in self.micro_batches for tensor in part.batch.tensors)

    def to(self, device: torch.device) -> "StepBatches":
        """The same on another device."""
        return self._with([part.batch.to(device) for part in self.micro_batches])

    def pinned(self) -> "StepBatches":
        """A copy in pinned memory, from which a GPU reads without waiting."""
        return self._with([part.batch.pinned() for part in self.micro_batches])

    def _with(self, batches: list[Batch]) -> "StepBatches":
        parts = (
            MicroBatch(batch, part.path)
            for batch, part in zip(batches, self.micro_batches, strict=True)
        )
        return replace(self, micro_batches=tuple(parts))


@dataclass(frozen=True)
class Steps:
    """Steps of so many batches each, in the order of a stream, as a pure function of its positions.

    The batches of a step, and so its gradient, do not depend on the number of processes: each
    process computes a block of them. Where there are fewer batches than processes, every batch is
    split by rows.
    """

    batches: BatchStream
    per_step: int = 1
    parallel: DataParallel = DataParallel()

    @property
    def parts(self) -> int:
        """In how many parts each batch is computed."""
        return -(-self.parallel.count // self.per_step)

    @property
    def most_of_a_process(self) -> int:
        """The largest number of micro-batches of a process."""
        return -(-self.per_step * self.parts // self.parallel.count)

    def at(self, position: int) -> StepBatches:
        """The step that begins at a position."""
        own, parts = self.parallel.block(self.per_step * self.parts), self.parts
        micro_batches, positions, tokens = list[MicroBatch](), list[int](), 0
        for index in range(self.per_step):
            positions.append(position)
            numbers = range(index * parts, (index + 1) * parts)
            if numbers.stop <= own.start or own.stop <= numbers.start:
                assert isinstance(self.batches, SizedBatchStream)
                labels, position = self.batches.size_at(position)
            else:
                batch, position = self.batches.at(position)
                labels = batch.labels.count
                micro_batches += [
                    MicroBatch(part, (number,))
                    for number, part in zip(numbers, split_rows(batch, parts), strict=False)
                    if number in own
                ]
            tokens += labels
        return StepBatches(tuple(micro_batches), tuple(positions), tokens, position)
