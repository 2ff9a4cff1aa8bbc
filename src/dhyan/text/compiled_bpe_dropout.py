"""The compiled library of BPE dropout: many sequences at once, without Python's lock."""

import ctypes
from collections.abc import Callable, Sequence
from ctypes import c_int32, c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from threading import Lock

import numpy as np
from jaxtyping import Int32, Int64, UInt8, UInt64

from dhyan.cpu_engine.library import declare
from dhyan.cpu_engine.threads import MAX_THREADS, usable_cores

LIBRARY = Path(__file__).parent / "bpe-dropout.so"  # a name that Python cannot import
MAX_WORDS = 2**19  # that are remembered, some 150 bytes each
WORDS_PER_CALL = 2**15  # that are spelled at once
OUT_OF_MEMORY, NO_SUCH_ID = -2, -3


Word = tuple[int, ...]
SpellWords = Callable[[Sequence[Word]], list[list[Word]]]


def has_library() -> bool:
    """Whether the library was compiled."""
    return LIBRARY.is_file()


@cache
def load_library() -> ctypes.CDLL:
    """The library with the types of its functions; arrays are passed by their addresses."""
    library = ctypes.CDLL(str(LIBRARY))
    array = c_void_p
    rows = [c_void_p, array, array, array]
    declare(library.dhyan_bpe_new, c_void_p, [array, c_int64, array, c_int32])
    declare(library.dhyan_bpe_free, None, [c_void_p])
    declare(library.dhyan_bpe_clear, None, [c_void_p])
    declare(library.dhyan_bpe_unknown, c_int64, [*rows, c_int64, array, c_int64])
    declare(library.dhyan_bpe_add, c_int64, [c_void_p, array, array, c_int64, *[array] * 3])
    declare(
        library.dhyan_bpe_resegment,
        c_void_p,
        [*rows, array, c_int64, c_uint64, c_int64, c_int32, ctypes.POINTER(c_int64)],
    )
    declare(library.dhyan_bpe_take, None, [c_void_p, array, array])
    return library


class CompiledDropout:
    """The merges of a tokenizer in the library, and the words seen so far, each spelled once.

    `begins_word` says of each id whether a word begins with it; a merge is dropped if a random
    number is below `dropped`.
    """

    def __init__(
        self,
        merges: Sequence[tuple[int, int, int]],
        begins_word: UInt8[np.ndarray, " V"],
        spell: SpellWords,
        dropped: int,
    ) -> None:
        self._library = load_library()
        self._spell, self._dropped, self._lock, self._words = spell, dropped, Lock(), 0
        table = np.array(merges, np.int32).reshape(-1, 3)
        self._handle = self._library.dhyan_bpe_new(
            table.ctypes.data, len(table), begins_word.ctypes.data, len(begins_word)
        )
        if not self._handle:
            raise MemoryError

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.dhyan_bpe_free(self._handle)

    def resegment(
        self,
        ids: Int32[np.ndarray, " W"],
        starts: Int64[np.ndarray, " N"],
        ends: Int64[np.ndarray, " N"],
        seeds: UInt64[np.ndarray, " N"],
        max_length: int,
    ) -> tuple[Int32[np.ndarray, " V"], Int64[np.ndarray, " M"]]:
        """Segmentations of the sequences ids[start : end] end to end, and where each begins."""
        rows = Rows(*map(np.ascontiguousarray, (ids, starts, ends)))
        seeds, total = np.ascontiguousarray(seeds), c_int64()
        with self._lock:
            while not (
                result := self._library.dhyan_bpe_resegment(
                    self._handle,
                    *rows.addresses,
                    seeds.ctypes.data,
                    len(seeds),
                    self._dropped,
                    max_length,
                    min(usable_cores(), MAX_THREADS),
                    ctypes.byref(total),
                )
            ):
                _raise_failure(total.value)
                self._add_unknown_words(rows)
            if self._words > MAX_WORDS:
                self._library.dhyan_bpe_clear(self._handle)
                self._words = 0
        segmentations = np.empty(total.value, np.int32)
        offsets = np.empty(len(seeds) + 1, np.int64)
        self._library.dhyan_bpe_take(result, segmentations.ctypes.data, offsets.ctypes.data)
        return segmentations, offsets

    def _add_unknown_words(self, rows: "Rows") -> None:
        spans = np.empty((WORDS_PER_CALL, 2), np.int64)
        while count := self._library.dhyan_bpe_unknown(
            self._handle, *rows.addresses, len(rows.starts), spans.ctypes.data, len(spans)
        ):
            _raise_failure(count)
            words = [tuple(rows.ids[start:end].tolist()) for start, end in spans[:count].tolist()]
            spelled = self._spell(words)
            parts = list(chain.from_iterable(spelled))
            part_counts, part_sizes, characters = (
                np.fromiter(values, np.int32)
                for values in (map(len, spelled), map(len, parts), chain.from_iterable(parts))
            )
            self._words = self._library.dhyan_bpe_add(
                self._handle,
                rows.ids.ctypes.data,
                spans.ctypes.data,
                count,
                part_counts.ctypes.data,
                part_sizes.ctypes.data,
                characters.ctypes.data,
            )
            _raise_failure(self._words)


@dataclass(frozen=True)
class Rows:
    """Sequences ids[start : end], all within the ids."""

    ids: Int32[np.ndarray, " W"]
    starts: Int64[np.ndarray, " N"]
    ends: Int64[np.ndarray, " N"]

    def __post_init__(self) -> None:
        ordered = ((self.starts >= 0) & (self.starts <= self.ends)).all()
        if not (ordered and (self.ends <= len(self.ids)).all()):
            raise ValueError("a sequence is not within the token ids")

    @property
    def addresses(self) -> tuple[int, int, int]:
        """Where the library reads them."""
        return self.ids.ctypes.data, self.starts.ctypes.data, self.ends.ctypes.data


def _raise_failure(code: int) -> None:
    if code == OUT_OF_MEMORY:
        raise MemoryError
    if code == NO_SUCH_ID:
        raise ValueError("a token id is not in the vocabulary")
