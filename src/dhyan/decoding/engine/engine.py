"""Decoding engine: runs greedy and beam search with continuous batching and CUDA graphs."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

import numpy
import torch

from dhyan.config import DecodingOptions
from dhyan.decoding.beam import Hypothesis
from dhyan.decoding.engine.packed_weights import fold_norms, supports_decoder
from dhyan.decoding.engine.recurrent import RecurrentStepper, supports_recurrent
from dhyan.decoding.engine.slots import Occupancy, Slots, Stepper, power_of_two
from dhyan.decoding.engine.transformer import TransformerStepper, TransformerWeights
from dhyan.kernels.backend import use_triton
from dhyan.kernels.search_state import BeamSearchState, GreedySearchState
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import TransformerDecoder

MAX_BEAM = 32  # wider beams take the plain search
MAX_SLOTS = 1024
MEMORY_SHARE = 0.3  # of the device, for the caches of all slots
STEPS_PER_CHECK = 4  # between two checks which sentences have finished
SENTENCES_PER_LOAD = 512  # encoded at once: while one group is encoded, the next is laid out
MAX_SLOT_SETS = 3  # cached for the next call
MIN_CAPACITY = 64  # tokens of a slot


def supports_model(model: Seq2Seq) -> bool:
    """Whether the engine has this kind of decoder; the plain search takes all of them."""
    return supports_decoder(model.decoder) or supports_recurrent(model.decoder)


def engine_supports(model: Seq2Seq, options: DecodingOptions) -> bool:
    """Whether the engine can search so: greedy search, or one beam that is not too wide."""
    plain = not options.sample and options.beam_groups == 1 and options.width <= MAX_BEAM
    if not (plain and supports_model(model)):
        return False
    weight = next(model.parameters())
    return use_triton(weight) or not weight.is_cuda


@dataclass(frozen=True)
class Workload:
    """Sources as ids, their maximum lengths, and how many hypotheses of each are wanted."""

    sources: Sequence[Sequence[int]]
    max_lengths: Sequence[int]
    nbest: int
    length_penalty: float


class Engine:
    """Greedy and beam search for one model, with the results of the plain search to rounding.

    It works on a copy of the weights in its own precision: later changes of the model do not
    change it.
    """

    def __init__(self, model: Seq2Seq, dtype: torch.dtype) -> None:
        if not supports_model(model):
            raise ValueError("the engine has no such decoder: use the plain search")
        self.model = deepcopy(model).eval().requires_grad_(False)
        self.device = next(model.parameters()).device
        self.transformer: TransformerWeights | None = None
        if isinstance(self.model.decoder, TransformerDecoder):
            fold_norms(self.model.decoder)
            self.transformer = TransformerWeights(self.model, dtype)
        self.model.to(dtype)
        self.slots: dict[tuple[int, int, int], Slots] = {}
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
        work = Workload(sources, max_lengths, min(nbest or beam, beam), length_penalty)
        results: dict[int, list[Hypothesis]] = {}
        with self.lock:
            for capacity, rows in self._by_capacity(work):
                slots = self._slots(len(rows), beam, capacity)
                slots.reset(length_penalty)
                results |= self._search(slots, rows, work)
        return [results[row] for row in range(len(sources))]

    def _by_capacity(self, work: Workload) -> list[tuple[int, list[int]]]:
        """Sentences grouped by the tokens a slot needs for them, the longest first."""
        lengths = numpy.fromiter(map(len, work.sources), int, len(work.sources))
        sizes = numpy.maximum(numpy.array(work.max_lengths, int) + 1, lengths)
        order = numpy.argsort(-sizes, kind="stable")
        groups: dict[int, list[int]] = {}
        for size, row in zip(sizes[order].tolist(), order.tolist(), strict=True):
            groups.setdefault(max(MIN_CAPACITY, power_of_two(size)), []).append(row)
        return list(groups.items())

    def _search(
        self, slots: Slots, rows: Sequence[int], work: Workload
    ) -> dict[int, list[Hypothesis]]:
        """Sentences take slots as they become free, until all have finished."""
        occupancy, waiting, size = Occupancy(slots.size), list(rows), slots.size
        results = {}
        while waiting or occupancy.sentences:
            waiting = self._fill(slots, occupancy, waiting, work)
            if not waiting:
                size = self._compact(slots, occupancy, size)
            self._run(slots, occupancy, size)
            active = set(slots.active(size))
            if len(active) < len(occupancy.sentences):
                finished = [slot for slot in occupancy.sentences if slot not in active]
                hypotheses = slots.results(finished, work.nbest, work.length_penalty)
                for slot, nbest in zip(finished, hypotheses, strict=True):
                    results[occupancy.release(slot)] = nbest
        return results

    def _run(self, slots: Slots, occupancy: Occupancy, size: int) -> None:
        """Some steps, a copy of the state, and one step more to run until the copy is there."""
        left = occupancy.steps_left()
        slots.run(size, min(STEPS_PER_CHECK, left))
        slots.copy_to_host()
        slots.run(size, min(1, max(0, left - STEPS_PER_CHECK)))
        occupancy.step += min(STEPS_PER_CHECK + 1, left)

    def _fill(
        self, slots: Slots, occupancy: Occupancy, waiting: list[int], work: Workload
    ) -> list[int]:
        """Load waiting sentences into free slots, once enough are free; returns who still waits."""
        free = occupancy.free() if waiting else []
        if not free or len(free) < min(slots.size // 4, len(waiting)):
            return waiting
        pairs = list(zip(free, waiting, strict=False))
        for start in range(0, len(pairs), SENTENCES_PER_LOAD):
            to, rows = zip(*pairs[start : start + SENTENCES_PER_LOAD], strict=True)
            max_lengths = [work.max_lengths[row] for row in rows]
            slots.load([work.sources[row] for row in rows], max_lengths, to)
            for slot, row, max_length in zip(to, rows, max_lengths, strict=True):
                occupancy.assign(slot, row, max_length)
        return waiting[len(pairs) :]

    def _compact(self, slots: Slots, occupancy: Occupancy, size: int) -> int:
        """The fewest slots that hold all sentences left, which move there."""
        smallest = min(size for size in slots.steps if size >= len(occupancy.sentences))
        if smallest >= size and max(occupancy.sentences) < size:
            return size
        start, end = occupancy.compact(smallest)
        if start:
            slots.move(start, end)
        return smallest

    def _slots(self, sentences: int, width: int, capacity: int) -> Slots:
        """Slots for all sentences, or for as many as the memory holds."""
        most = self._max_slots(width, capacity)
        size = min(power_of_two(sentences), MAX_SLOTS, most)
        key = (size, width, capacity)
        slots = self.slots.pop(key, None)
        if slots is None:
            while len(self.slots) >= MAX_SLOT_SETS:
                self.slots.pop(next(iter(self.slots)))
            slots = self._new_slots(size, width, capacity)
        self.slots[key] = slots
        return slots

    def _new_slots(self, size: int, width: int, capacity: int) -> Slots:
        search: GreedySearchState | BeamSearchState
        if width == 1:
            search = GreedySearchState.empty(size + 1, capacity, self.device)
        else:
            search = BeamSearchState.empty(size + 1, width, capacity, self.device)
        stepper: Stepper
        if self.transformer is not None:
            stepper = TransformerStepper(self.transformer, size + 1, width, capacity)
        else:
            stepper = RecurrentStepper(self.model, size + 1, width, capacity)
        captures = self.transformer is not None and self.transformer.encoder is not None
        longest = self.model.encoder.max_length
        return Slots(stepper, search, max_source_length=longest, captures_loads=captures)

    def _max_slots(self, width: int, capacity: int) -> int:
        """How many slots the memory holds: a power of two."""
        if self.device.type != "cuda" or self.transformer is None:
            return MAX_SLOTS
        stack = self.transformer.decoder
        per_token = 2 * len(stack.layers) * stack.kv_heads * stack.head_width
        per_token *= self.transformer.dtype.itemsize
        memory = torch.cuda.get_device_properties(self.device).total_memory
        most = int(MEMORY_SHARE * memory / MAX_SLOT_SETS / (per_token * capacity * (width + 1)))
        return power_of_two(max(most, 1) + 1) // 2


_engines: WeakKeyDictionary[Seq2Seq, Engine] = WeakKeyDictionary()


def engine_for(model: Seq2Seq) -> Engine:
    """The engine of a model, made at its first use: on a GPU in half precision."""
    engine = _engines.get(model)
    if engine is None:
        on_gpu = next(model.parameters()).is_cuda
        engine = _engines[model] = Engine(model, torch.float16 if on_gpu else torch.float32)
    return engine
