"""Slots of continuous batching: fixed tensors, decoding steps as CUDA graphs, finished results."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.decoding.beam import Hypothesis
from dhyan.kernels.cuda_graph import GraphedCall
from dhyan.kernels.decode.next_token import backtrace, beam_step, greedy_step
from dhyan.kernels.search_state import BeamSearchState, GreedySearchState
from dhyan.special_tokens import EOS, PAD

GREEDY = ("active", "score", "ids")  # tensors of a search that are copied to the host
BEAM = ("active", "score", "steps", "finished_score", "finished_length", "finished_parent")
SOURCE_MULTIPLE = 16  # sources are padded to a multiple of so many tokens

HostState = Mapping[str, NDArray[Any]]
Backtrace = Callable[[Tensor, Tensor, int], Tensor]  # lengths, last parents, the greatest length


@runtime_checkable
class Stepper(Protocol):
    """A model that decodes in place: its caches are tensors that never move."""

    def load(self, source: Tokens, slots: Int[Tensor, " B"]) -> None:
        """Encode sentences into these slots."""
        ...

    def step(self, search: GreedySearchState | BeamSearchState) -> Float[Tensor, "R V"]:
        """Read the tokens of the search; the logits of the next ones."""
        ...

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Move sentences to other slots."""
        ...


class LoadBuffer:
    """A group of sentences on the way into slots: fixed tensors, and the call that encodes them.

    Ids, maximum lengths and slots are laid out on the host and copied in one piece, while the
    device may still be encoding the group before.
    """

    def __init__(self, rows: int, length: int, device: torch.device) -> None:
        self.packed = torch.full((rows * (length + 2),), PAD, device=device)
        gpu = device.type == "cuda"
        self.staged = torch.empty_like(self.packed, device="cpu", pin_memory=gpu)
        self.copied = torch.cuda.Event() if gpu else None
        self.ids, self.max_lengths, self.slots = _unpack(self.packed, rows, length)
        self.encode = GraphedCall(lambda: None, device)
        self.uses = 0

    def fill(
        self,
        sources: Sequence[Sequence[int]],
        max_lengths: Sequence[int],
        slots: Sequence[int],
        *,
        unused_slot: int,
    ) -> None:
        """Copy sentences, maximum lengths and slots; spare rows go to the unused slot."""
        rows, length = self.ids.shape
        spare = rows - len(sources)
        tokens = array("i")  # the fastest way from lists
        for source in (*sources, [EOS] * spare):
            tokens.fromlist(list(source))
        lengths = numpy.array([*map(len, sources), *[1] * spare])
        if self.copied is not None:
            self.copied.synchronize()
        ids, limits, to = (part.numpy() for part in _unpack(self.staged, rows, length))
        ids.fill(PAD)
        ids[numpy.arange(length) < lengths[:, None]] = tokens
        limits[:], to[:] = [*max_lengths, *[1] * spare], [*slots, *[unused_slot] * spare]
        self.packed.copy_(self.staged, non_blocking=True)
        if self.copied is not None:
            self.copied.record()


def _unpack(packed: Int[Tensor, " X"], rows: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    ids, max_lengths, slots = packed.split([rows * length, rows, rows])
    return ids.view(rows, length), max_lengths, slots


class Slots:
    """`size` slots for sentences, each with `width` rows (1 is greedy) of up to `capacity` tokens.

    One more slot, the last, is unused: rows that pad a group of sentences are encoded into it.
    `max_source_length` is the longest source the model takes, if there is a bound.
    """

    def __init__(
        self,
        stepper: Stepper,
        search: GreedySearchState | BeamSearchState,
        *,
        max_source_length: int | None,
        captures_loads: bool,
    ) -> None:
        self.stepper, self.search, self.max_source_length = stepper, search, max_source_length
        self.size, self.device = len(search.steps) - 1, search.steps.device
        self.captures_loads = captures_loads
        self.steps: dict[int, GraphedCall] = {}
        self.buffers: dict[tuple[int, int], LoadBuffer] = {}
        self.pool = torch.cuda.graph_pool_handle() if self.device.type == "cuda" else None
        self.host = {
            name: torch.zeros_like(getattr(search, name), device="cpu", pin_memory=bool(self.pool))
            for name in (GREEDY if isinstance(search, GreedySearchState) else BEAM)
        }
        self.copied = torch.cuda.Event() if self.pool is not None else None
        for size in sizes_up_to(self.size):
            self._add_step(size)

    def _add_step(self, size: int) -> None:
        search = self.search.first(size)

        def work() -> None:
            logits = self.stepper.step(search)
            if isinstance(search, GreedySearchState):
                greedy_step(search, logits)
            else:
                beam_step(search, logits)

        self.steps[size] = GraphedCall(work, self.device)
        self.steps[size].capture(self.pool)

    def reset(self, length_penalty: float) -> None:
        """Free all slots, and set the length penalty of the next sentences."""
        self.search.active.zero_()
        if isinstance(self.search, BeamSearchState):
            self.search.set_length_penalty(length_penalty)

    def load(
        self,
        sources: Sequence[Sequence[int]],
        max_lengths: Sequence[int],
        slots: Sequence[int],
    ) -> None:
        """Encode sentences into these slots and start their search."""
        rows = power_of_two(len(sources))
        length = -(-max(map(len, sources)) // SOURCE_MULTIPLE) * SOURCE_MULTIPLE
        length = min(length, self.max_source_length or length)
        buffer = self.buffers.get((rows, length)) or self._new_buffer(rows, length)
        buffer.fill(sources, max_lengths, slots, unused_slot=self.size)
        buffer.uses += 1
        if buffer.uses == 2 and self.captures_loads:
            buffer.encode.capture(self.pool)
        buffer.encode()

    def _new_buffer(self, rows: int, length: int) -> LoadBuffer:
        buffer = LoadBuffer(rows, length, self.device)
        source = Tokens(buffer.ids, torch.zeros_like(buffer.ids, dtype=torch.bool))

        def work() -> None:
            torch.ne(source.ids, PAD, out=source.mask)
            self.stepper.load(source, buffer.slots)
            self.search.assign(buffer.slots, buffer.max_lengths.int())

        buffer.encode = GraphedCall(work, self.device)
        self.buffers[rows, length] = buffer
        return buffer

    def run(self, size: int, steps: int) -> None:
        """Run so many steps of the first `size` slots."""
        for _ in range(steps):
            self.steps[size]()

    def copy_to_host(self) -> None:
        """Begin to copy the state after the steps so far; `active` and `results` read the copy."""
        for name, tensor in self.host.items():
            tensor.copy_(getattr(self.search, name), non_blocking=True)
        if self.copied is not None:
            self.copied.record()

    def active(self, size: int) -> list[int]:
        """Which of the first slots held an unfinished sentence at the last copy."""
        if self.copied is not None:
            self.copied.synchronize()
        return numpy.flatnonzero(self.host["active"][:size].numpy()).tolist()

    def results(
        self, slots: Sequence[int], nbest: int, length_penalty: float
    ) -> list[list[Hypothesis]]:
        """The hypotheses of sentences that had finished at the last copy, the best few of each."""
        state = {name: tensor.numpy()[slots] for name, tensor in self.host.items()}
        if isinstance(self.search, GreedySearchState):
            return greedy_results(state, length_penalty)
        rows = torch.tensor(slots, device=self.device)
        return beam_results(state, partial(backtrace, self.search, rows), nbest, length_penalty)

    def move(self, start: Sequence[int], end: Sequence[int]) -> None:
        """Move sentences to other slots."""
        rows, to = (torch.tensor(slots, device=self.device) for slots in (start, end))
        self.stepper.move(rows, to)
        self.search.move(rows, to)


def greedy_results(state: HostState, length_penalty: float) -> list[list[Hypothesis]]:
    """The hypothesis of each sentence of a greedy search."""
    ids = state["ids"][:, 1:]
    lengths = (ids != PAD).sum(axis=1)
    scores = state["score"] / _length_divisor(lengths, length_penalty)
    finished = (ids == EOS).any(axis=1)
    counts, rows = (lengths - finished).tolist(), ids[:, : lengths.max()].tolist()
    results = zip(rows, counts, scores.tolist(), finished.tolist(), strict=True)
    return [[Hypothesis(tuple(row[:count]), score, end)] for row, count, score, end in results]


def beam_results(
    state: HostState, backtrace: Backtrace, nbest: int, length_penalty: float
) -> list[list[Hypothesis]]:
    """The best few hypotheses of each sentence, finished ones first; −inf marks an empty slot."""
    finished_score, steps = state["finished_score"], state["steps"][:, None]
    width = finished_score.shape[1]
    beam_row = numpy.broadcast_to(numpy.arange(width, dtype=numpy.int32), finished_score.shape)
    unfinished_score = state["score"] / _length_divisor(steps, length_penalty)
    score = numpy.concatenate([finished_score, unfinished_score], axis=1)
    length = numpy.concatenate([state["finished_length"] - 1, beam_row * 0 + steps], axis=1)
    last = numpy.concatenate([state["finished_parent"], beam_row], axis=1)
    real = score > -numpy.inf
    best = numpy.argsort(~real, axis=1, kind="stable")[:, :nbest]
    score, length, last = (
        numpy.take_along_axis(part, best, axis=1) for part in (score, length, last)
    )
    length = length.clip(min=0)
    ids = backtrace(torch.from_numpy(length), torch.from_numpy(last), int(length.max()))
    counts, finished = real.sum(axis=1).clip(max=nbest).tolist(), (best < width).tolist()
    sentences = zip(ids.tolist(), length.tolist(), score.tolist(), finished, counts, strict=True)
    return [
        [
            Hypothesis(tuple(row[:size]), hypothesis_score, end)
            for row, size, hypothesis_score, end in zip(*columns, strict=True)
        ][:count]
        for *columns, count in sentences
    ]


def _length_divisor(lengths: NDArray[Any], length_penalty: float) -> NDArray[numpy.float32]:
    """What scores of so many tokens are divided by."""
    return (lengths.clip(min=1).astype(numpy.float64) ** length_penalty).astype(numpy.float32)


def sizes_up_to(size: int) -> list[int]:
    """All, half, a quarter … of the slots, as far as it pays."""
    sizes = [size]
    while sizes[-1] > 8 and len(sizes) < 6:
        sizes.append(sizes[-1] // 2)
    return sizes


def power_of_two(count: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << (count - 1).bit_length()


@dataclass
class Occupancy:
    """Which sentence is in which slot, and the step by which each has finished at the latest."""

    size: int
    step: int = 0
    sentences: dict[int, int] = field(default_factory=dict)
    last_steps: dict[int, int] = field(default_factory=dict)

    def free(self) -> list[int]:
        """The free slots, first ones first."""
        return [slot for slot in range(self.size) if slot not in self.sentences]

    def steps_left(self) -> int:
        """The number of steps after which all sentences have finished."""
        return max(self.last_steps.values()) - self.step

    def assign(self, slot: int, sentence: int, steps: int) -> None:
        """Put a sentence of so many steps at most into a slot."""
        self.sentences[slot], self.last_steps[slot] = sentence, self.step + steps

    def release(self, slot: int) -> int:
        """Free a slot; returns its sentence."""
        del self.last_steps[slot]
        return self.sentences.pop(slot)

    def compact(self, size: int) -> tuple[list[int], list[int]]:
        """Move all sentences into the first `size` slots: from where, and to where."""
        start = [slot for slot in self.sentences if slot >= size]
        end = self.free()[: len(start)]
        for old, new in zip(start, end, strict=True):
            self.sentences[new] = self.sentences.pop(old)
            self.last_steps[new] = self.last_steps.pop(old)
        return start, end
