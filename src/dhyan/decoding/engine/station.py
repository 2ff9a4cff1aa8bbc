"""Places for sentences that are being translated, and the captured steps that translate them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol, runtime_checkable

import numpy
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.engine.captured import Captured
from dhyan.decoding.engine.results import beam_results, greedy_results
from dhyan.kernels.boards import BeamBoard, GreedyBoard
from dhyan.kernels.choose import choose_beams, choose_greedily
from dhyan.special import EOS, PAD

ALIKE = 16  # sources are padded to a multiple of so many tokens


@runtime_checkable
class Stepper(Protocol):
    """A model that steps in place: what it knows of its sentences lies in tensors that stay."""

    def load(self, source: Tokens, slots: Int[Tensor, " B"]) -> None:
        """Read sentences and remember them at these places."""
        ...

    def step(self, board: GreedyBoard | BeamBoard) -> Float[Tensor, "R V"]:
        """Feed the words of the board's sentences; the logits of the next."""
        ...

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Sentences change their places."""
        ...


@dataclass
class Loading:
    """A group of sentences on its way in: tensors that stay, and the reading of them."""

    source: Tokens
    limits: Int[Tensor, " B"]
    slots: Int[Tensor, " B"]
    read: Captured
    uses: int = 0

    def fill(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        slots: Sequence[int],
        *,
        nobody: int,
    ) -> None:
        """Sentences, how long they may become, and where they go; what is spare goes to no one."""
        rows, length = self.source.ids.shape
        spare = rows - len(sources)
        lengths = numpy.array([*map(len, sources), *[1] * spare])
        words = numpy.array([*chain.from_iterable(sources), *[EOS] * spare])
        ids = numpy.full((rows, length), PAD)
        ids[numpy.arange(length) < lengths[:, None]] = words
        self.source.ids.copy_(torch.from_numpy(ids))
        self.limits.copy_(torch.from_numpy(numpy.array([*limits, *[1] * spare])))
        self.slots.copy_(torch.from_numpy(numpy.array([*slots, *[nobody] * spare])))


class Station:
    """`size` sentences at a time, each with `width` rows (one: greedy), of up to `room` tokens.

    The last place is no one's: what pads a group of sentences is read into it. `longest` is the
    most tokens of a source that the model takes, if there is a bound.
    """

    def __init__(
        self,
        stepper: Stepper,
        board: GreedyBoard | BeamBoard,
        *,
        longest: int | None,
        captures_loads: bool,
    ) -> None:
        self.stepper, self.board, self.longest = stepper, board, longest
        self.size, self.device = len(board.places) - 1, board.places.device
        self.captures_loads = captures_loads
        self.steps: dict[int, Captured] = {}
        self.loads: dict[tuple[int, int], Loading] = {}
        self.pool = torch.cuda.graph_pool_handle() if self.device.type == "cuda" else None
        for size in sizes_up_to(self.size):
            self._add_step(size)

    def _add_step(self, size: int) -> None:
        board = self.board.first(size)

        def work() -> None:
            logits = self.stepper.step(board)
            if isinstance(board, GreedyBoard):
                choose_greedily(board, logits)
            else:
                choose_beams(board, logits)

        self.steps[size] = Captured(work, self.device)
        self.steps[size].prepare(self.pool)

    def open(self, power: float) -> None:
        """All places are free, whatever was left undone; scores are divided by length^power."""
        self.board.live.zero_()
        if isinstance(self.board, BeamBoard):
            self.board.by_length(power)

    def seat(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        slots: Sequence[int],
    ) -> None:
        """Sentences take these places."""
        rows = power_of_two(len(sources))
        length = -(-max(map(len, sources)) // ALIKE) * ALIKE
        length = min(length, self.longest or length)
        known = self.loads.get((rows, length)) or self._loading(rows, length)
        known.fill(sources, limits, slots, nobody=self.size)
        known.uses += 1
        if known.uses == 2 and self.captures_loads:
            known.read.prepare(self.pool)
        known.read()

    def _loading(self, rows: int, length: int) -> Loading:
        ids = torch.full((rows, length), PAD, device=self.device)
        source = Tokens(ids, torch.zeros_like(ids, dtype=torch.bool))
        limits, slots = torch.full((2, rows), self.size, device=self.device)

        def work() -> None:
            torch.ne(source.ids, PAD, out=source.mask)
            self.stepper.load(source, slots)
            self.board.seat(slots, limits.int())

        loading = Loading(source, limits, slots, Captured(work, self.device))
        self.loads[rows, length] = loading
        return loading

    def run(self, size: int, steps: int) -> None:
        """So many steps of the first `size` places."""
        for _ in range(steps):
            self.steps[size]()

    def living(self, size: int) -> list[int]:
        """Which of the first places hold a sentence that goes on."""
        return numpy.flatnonzero(self.board.live[:size].cpu().numpy()).tolist()

    def told(self, slots: Sequence[int], power: float) -> list[list[Hypothesis]]:
        """What the sentences at these places have come to."""
        places = torch.tensor(slots, device=self.device)
        if isinstance(self.board, GreedyBoard):
            return greedy_results(self.board, places, power)
        return beam_results(self.board, places)

    def move(self, start: Sequence[int], end: Sequence[int]) -> None:
        """Sentences change their places."""
        rows, to = (torch.tensor(slots, device=self.device) for slots in (start, end))
        self.stepper.move(rows, to)
        self.board.move(rows, to)


def sizes_up_to(size: int) -> list[int]:
    """Whole, half, quarter … of the places, as far as it pays."""
    sizes = [size]
    while sizes[-1] > 8 and len(sizes) < 6:
        sizes.append(sizes[-1] // 2)
    return sizes


def power_of_two(count: int) -> int:
    """The least one that is not smaller."""
    return 1 << (count - 1).bit_length()


@dataclass
class Seats:
    """Who sits where at a station, and by which step of its clock each has ended at the latest."""

    size: int
    clock: int = 0
    holds: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)

    def free(self) -> list[int]:
        """The places no one has, first ones first."""
        return [slot for slot in range(self.size) if slot not in self.holds]

    def left(self) -> int:
        """After so many steps all of them have ended, if not before."""
        return max(self.ends.values()) - self.clock

    def take(self, slot: int, sentence: int, steps: int) -> None:
        """A sentence sits down."""
        self.holds[slot], self.ends[slot] = sentence, self.clock + steps

    def leave(self, slot: int) -> int:
        """A sentence gets up: which one."""
        del self.ends[slot]
        return self.holds.pop(slot)

    def closed_up(self, size: int) -> tuple[list[int], list[int]]:
        """Everyone moves within the first `size` places: from where, and to where."""
        start = [slot for slot in self.holds if slot >= size]
        end = self.free()[: len(start)]
        for old, new in zip(start, end, strict=True):
            self.holds[new], self.ends[new] = self.holds.pop(old), self.ends.pop(old)
        return start, end
