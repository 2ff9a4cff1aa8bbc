"""The engine: sentences of any number through stations, as many at once as pays."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

import numpy
import torch

from dhyan.config import DecodingOptions
from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.engine.packed_weights import fits_decoder, fold_norms
from dhyan.decoding.engine.recurrent import RecurrentStepper, fits_recurrent
from dhyan.decoding.engine.slots import Seats, Station, Stepper, power_of_two
from dhyan.decoding.engine.transformer import TransformerPart, TransformerStepper
from dhyan.kernels.backend import use_triton
from dhyan.kernels.triton.decode.search_state import BeamBoard, GreedyBoard
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import TransformerDecoder

WIDEST = 32  # beams beyond this are the plain search's
SENTENCES = 1024  # at once, at most
SHARE = 0.3  # of the device's memory, for what sentences have said and read
LOOK_EVERY = 4  # steps between two looks at who has ended
TOGETHER = 512  # sentences that are read at once: while one group is read, the next is laid out
STATIONS = 3  # kept for the next call
LEAST_ROOM = 64


def supports_model(model: Seq2Seq) -> bool:
    """Whether the engine has this kind of decoder; the plain search takes all of them."""
    return fits_decoder(model.decoder) or fits_recurrent(model.decoder)


def engine_supports(model: Seq2Seq, options: DecodingOptions) -> bool:
    """Whether the engine can search so: greedy search, or one beam that is not too wide."""
    plain = not options.sample and options.beam_groups == 1 and options.width <= WIDEST
    if not (plain and supports_model(model)):
        return False
    weight = next(model.parameters())
    return use_triton(weight) or not weight.is_cuda


@dataclass(frozen=True)
class Asked:
    """Sentences as ids, the most tokens each may become, and which hypotheses are wanted of each.

    The best `count`, by scores that are divided by length^power.
    """

    sources: Sequence[Sequence[int]]
    limits: Sequence[int]
    count: int
    power: float


class Engine:
    """Greedy and beam search for one model, with the results of the plain search to rounding.

    It works on a copy of the weights in its own precision: what happens to the model afterwards
    does not change it.
    """

    def __init__(self, model: Seq2Seq, precision: torch.dtype) -> None:
        if not supports_model(model):
            raise ValueError("the engine has no such decoder: use the plain search")
        self.model = deepcopy(model).eval().requires_grad_(False)
        self.device, self.part = next(model.parameters()).device, None
        if isinstance(self.model.decoder, TransformerDecoder):
            fold_norms(self.model.decoder)
            self.part = TransformerPart(self.model, precision)
        self.model.to(precision)
        self.stations: dict[tuple[int, int, int], Station] = {}
        self.lock = Lock()

    @torch.inference_mode()
    def translate(
        self,
        sources: Sequence[Sequence[int]],
        *,
        beam: int,
        max_lengths: Sequence[int],
        length_penalty: float = 0.0,
        nbest: int | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first; a beam of 1 is greedy search.

        `sources` end in EOS, `max_lengths` count EOS, and scores are log-probability / length **
        length_penalty. With `nbest`, only the best few of the beam are returned.
        """
        width, power = beam, length_penalty
        asked = Asked(sources, max_lengths, min(nbest or beam, beam), power)
        found: dict[int, list[Hypothesis]] = {}
        with self.lock:
            for room, rows in self._alike(asked):
                station = self._station(len(rows), width, room)
                station.open(power)
                found |= self._through(station, rows, asked)
        return [found[row] for row in range(len(sources))]

    def _alike(self, asked: Asked) -> list[tuple[int, list[int]]]:
        """Sentences that want about as much room together, the longest first."""
        lengths = numpy.fromiter(map(len, asked.sources), int, len(asked.sources))
        sizes = numpy.maximum(numpy.array(asked.limits, int) + 1, lengths)
        order = numpy.argsort(-sizes, kind="stable")
        groups: dict[int, list[int]] = {}
        for size, row in zip(sizes[order].tolist(), order.tolist(), strict=True):
            groups.setdefault(max(LEAST_ROOM, power_of_two(size)), []).append(row)
        return list(groups.items())

    def _through(
        self, station: Station, rows: Sequence[int], asked: Asked
    ) -> dict[int, list[Hypothesis]]:
        """Sentences take places as they come free, until all are through."""
        seats, waiting, size = Seats(station.size), list(rows), station.size
        found = {}
        while waiting or seats.holds:
            waiting = self._seated(station, seats, waiting, asked)
            if not waiting:
                size = self._closed_up(station, seats, size)
            self._run(station, seats, size)
            living = set(station.living(size))
            if len(living) < len(seats.holds):
                ended = [slot for slot in seats.holds if slot not in living]
                told = station.told(ended, asked.count, asked.power)
                for slot, own in zip(ended, told, strict=True):
                    found[seats.leave(slot)] = own
        return found

    def _run(self, station: Station, seats: Seats, size: int) -> None:
        """Some steps, a question who goes on, and one step more to do until it is answered."""
        left = seats.left()
        station.run(size, min(LOOK_EVERY, left))
        station.look()
        station.run(size, min(1, max(0, left - LOOK_EVERY)))
        seats.clock += min(LOOK_EVERY + 1, left)

    def _seated(
        self, station: Station, seats: Seats, waiting: list[int], asked: Asked
    ) -> list[int]:
        """Let those who wait take free places, once there are enough of them: who still waits."""
        free = seats.free() if waiting else []
        if not free or len(free) < min(station.size // 4, len(waiting)):
            return waiting
        coming = list(zip(free, waiting, strict=False))
        for start in range(0, len(coming), TOGETHER):
            slots, rows = zip(*coming[start : start + TOGETHER], strict=True)
            limits = [asked.limits[row] for row in rows]
            station.seat([asked.sources[row] for row in rows], limits, slots)
            for slot, row, limit in zip(slots, rows, limits, strict=True):
                seats.take(slot, row, limit)
        return waiting[len(coming) :]

    def _closed_up(self, station: Station, seats: Seats, size: int) -> int:
        """The fewest places that hold all who are left, who move there."""
        fits = min(one for one in station.steps if one >= len(seats.holds))
        if fits >= size and max(seats.holds) < size:
            return size
        start, end = seats.closed_up(fits)
        if start:
            station.move(start, end)
        return fits

    def _station(self, sentences: int, width: int, room: int) -> Station:
        """One with places enough, or as many as there is memory for."""
        most = self._most(width, room)
        size = min(power_of_two(sentences), SENTENCES, most)
        key = (size, width, room)
        station = self.stations.pop(key, None)
        if station is None:
            while len(self.stations) >= STATIONS:
                self.stations.pop(next(iter(self.stations)))
            station = self._new_station(size, width, room)
        self.stations[key] = station
        return station

    def _new_station(self, size: int, width: int, room: int) -> Station:
        board: GreedyBoard | BeamBoard
        if width == 1:
            board = GreedyBoard.empty(size + 1, room, self.device)
        else:
            board = BeamBoard.empty(size + 1, width, room, self.device)
        stepper: Stepper
        if self.part is not None:
            stepper = TransformerStepper(self.part, size + 1, width, room)
        else:
            stepper = RecurrentStepper(self.model, size + 1, width, room)
        captures = self.part is not None and self.part.reader is not None
        longest = self.model.encoder.max_length
        return Station(stepper, board, longest=longest, captures_loads=captures)

    def _most(self, width: int, room: int) -> int:
        """How many sentences the memory has places for: a power of two."""
        if self.device.type != "cuda" or self.part is None:
            return SENTENCES
        stack = self.part.stack
        each = 2 * len(stack.layers) * stack.groups * stack.head_width * self.part.kind.itemsize
        memory = torch.cuda.get_device_properties(self.device).total_memory
        most = int(SHARE * memory / STATIONS / (each * room * (width + 1)))
        return power_of_two(max(most, 1) + 1) // 2


_engines: WeakKeyDictionary[Seq2Seq, Engine] = WeakKeyDictionary()


def engine_for(model: Seq2Seq) -> Engine:
    """The engine of a model, made when it is first asked for: on a GPU in half precision."""
    engine = _engines.get(model)
    if engine is None:
        on_gpu = next(model.parameters()).is_cuda
        engine = _engines[model] = Engine(model, torch.float16 if on_gpu else torch.float32)
    return engine
