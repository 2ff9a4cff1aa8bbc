"""Places for sentences that are being translated, and the captured steps that translate them."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, runtime_checkable

import numpy
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.engine.cuda_graph import Captured
from dhyan.decoding.engine.outputs import beam_results, greedy_results
from dhyan.kernels.triton.decode.next_token import choose_beams, choose_greedily, followed_back
from dhyan.kernels.triton.decode.search_state import BeamBoard, GreedyBoard
from dhyan.special_tokens import EOS, PAD

GREEDY = ("live", "score", "said")  # what a look sees of a board
BEAM = ("live", "score", "places", "ended_score", "ended_length", "ended_parent")
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


class Loading:
    """A group of sentences on its way in: tensors that stay, and the reading of them.

    Ids, how long the sentences may become and where they go are laid out on the host and sent in
    one piece, while the device may still be reading the group before.
    """

    def __init__(self, rows: int, length: int, device: torch.device) -> None:
        self.given = torch.full((rows * (length + 2),), PAD, device=device)
        gpu = device.type == "cuda"
        self.staged = torch.empty_like(self.given, device="cpu", pin_memory=gpu)
        self.sent = torch.cuda.Event() if gpu else None
        self.ids, self.limits, self.slots = _parts(self.given, rows, length)
        self.read = Captured(lambda: None, device)
        self.uses = 0

    def fill(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        slots: Sequence[int],
        *,
        nobody: int,
    ) -> None:
        """Sentences, how long they may become, and where they go; what is spare goes to no one."""
        rows, length = self.ids.shape
        spare = rows - len(sources)
        words = array("i")  # the quickest way from lists
        for one in (*sources, [EOS] * spare):
            words.fromlist(list(one))
        lengths = numpy.array([*map(len, sources), *[1] * spare])
        if self.sent is not None:
            self.sent.synchronize()
        ids, most, to = (part.numpy() for part in _parts(self.staged, rows, length))
        ids.fill(PAD)
        ids[numpy.arange(length) < lengths[:, None]] = words
        most[:], to[:] = [*limits, *[1] * spare], [*slots, *[nobody] * spare]
        self.given.copy_(self.staged, non_blocking=True)
        if self.sent is not None:
            self.sent.record()


def _parts(given: Int[Tensor, " X"], rows: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    ids, most, to = given.split([rows * length, rows, rows])
    return ids.view(rows, length), most, to


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
        self.seen = {
            name: torch.zeros_like(getattr(board, name), device="cpu", pin_memory=bool(self.pool))
            for name in (GREEDY if isinstance(board, GreedyBoard) else BEAM)
        }
        self.asked = torch.cuda.Event() if self.pool is not None else None
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
        loading = Loading(rows, length, self.device)
        source = Tokens(loading.ids, torch.zeros_like(loading.ids, dtype=torch.bool))

        def work() -> None:
            torch.ne(source.ids, PAD, out=source.mask)
            self.stepper.load(source, loading.slots)
            self.board.seat(loading.slots, loading.limits.int())

        loading.read = Captured(work, self.device)
        self.loads[rows, length] = loading
        return loading

    def run(self, size: int, steps: int) -> None:
        """So many steps of the first `size` places."""
        for _ in range(steps):
            self.steps[size]()

    def look(self) -> None:
        """Ask how things stand after the steps so far; `living` and `told` have the answer."""
        for name, part in self.seen.items():
            part.copy_(getattr(self.board, name), non_blocking=True)
        if self.asked is not None:
            self.asked.record()

    def living(self, size: int) -> list[int]:
        """Which of the first places held a sentence that goes on, at the last look."""
        if self.asked is not None:
            self.asked.synchronize()
        return numpy.flatnonzero(self.seen["live"][:size].numpy()).tolist()

    def told(self, slots: Sequence[int], count: int, power: float) -> list[list[Hypothesis]]:
        """What sentences had come to that had ended at the last look, the best `count` of each."""
        seen = {name: part.numpy()[slots] for name, part in self.seen.items()}
        if isinstance(self.board, GreedyBoard):
            return greedy_results(seen, power)
        places = torch.tensor(slots, device=self.device)
        return beam_results(seen, partial(followed_back, self.board, places), count, power)

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
