"""Encode a corpus into memory-mapped shards: by several processes, resumable, checksummed.

A shard holds what is kept of so many pairs read, so the shards of a corpus are always the same, and
a run that was interrupted encodes only those that are missing.
"""

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from dhyan.atomic_folder import file_checksum, sync, to_json_bytes
from dhyan.data.encode import CHUNK_PAIRS, encode_chunk, mask_placeholders
from dhyan.data.pairs import Pair
from dhyan.data.shards import PARTS, SIDES, ShardType, shard_files
from dhyan.errors import UserError, spell_option
from dhyan.safe_io.bounded_files import UnsafeFile, read_file
from dhyan.safe_io.json_toml import read_json
from dhyan.text.tokenizer import Tokenizer

SHARD_PAIRS = 2**20  # pairs read for one shard
ALONE_CHUNKS = 32  # encoded in this process, before others are worth starting
AHEAD = 4  # chunks that each process is given ahead
RECORD = "{:05}.shard.json"  # of a finished shard, until the folder is finished
MAX_RECORD_BYTES = 2**20
Encode = Callable[[list[Pair]], "EncodedChunk"]


@dataclass(frozen=True)
class EncodedChunk:
    """Some pairs as the bytes of their ids and lengths on each side, and what was left out."""

    ids: tuple[bytes, bytes]
    lengths: tuple[bytes, bytes]
    dropped: Counter[str]

    @property
    def pairs(self) -> int:
        """The number of pairs that were kept."""
        return len(self.lengths[0]) // 4


@dataclass(frozen=True, kw_only=True)
class ChunkEncoder:
    """Encodes chunks of pairs; codecs are files, so that any process can open them."""

    codecs: tuple[Path, Path]
    placeholders: tuple[str, ...]
    max_tokens: int
    ids_type: str

    def __call__(self, pairs: list[Pair]) -> EncodedChunk:
        """These pairs as bytes."""
        source, target = map(_load, self.codecs)
        masked = list(mask_placeholders(pairs, self.placeholders))
        kept, dropped = encode_chunk(masked, source, target, self.max_tokens)
        sides = [[pair[side] for pair in kept] for side in range(2)]
        source_ids, target_ids = (
            np.array([token for ids in side for token in ids], self.ids_type).tobytes()
            for side in sides
        )
        source_lengths, target_lengths = (
            np.array([len(ids) for ids in side], "<u4").tobytes() for side in sides
        )
        return EncodedChunk(
            (source_ids, target_ids),
            (source_lengths, target_lengths),
            Counter(reason for (reason, _), _ in dropped),
        )


@dataclass(frozen=True)
class ShardRecord:
    """A finished shard: pairs kept, tokens of each side, pairs left out, and checksums."""

    pairs: int
    tokens: dict[str, int]
    dropped: dict[str, int]
    files: dict[str, dict[str, Any]]


class ShardEncoder:
    """Writes the pairs of one corpus after another into the shards of a folder."""

    def __init__(
        self, folder: Path, encode: ChunkEncoder, types: ShardType, *, workers: int
    ) -> None:
        self.folder, self.encode, self.types, self.workers = folder, encode, types, workers
        self.records = list[ShardRecord]()
        self.resumed = 0

    def add(self, pairs: Iterable[Pair]) -> list[ShardRecord]:
        """Encode the pairs of a corpus, but for the shards that are finished; its records."""
        first, remaining = len(self.records), iter(pairs)
        with _Workers(self.encode, self.workers) as workers:
            while chunk := next(_chunks(remaining), None):
                number = len(self.records)
                shard = _prepend(chunk, islice(_chunks(remaining), SHARD_PAIRS // CHUNK_PAIRS - 1))
                record = self._finished(number)
                if record is None:
                    record = self._write(number, workers.encode(shard))
                else:
                    self.resumed += 1
                    for _ in shard:  # read, not encoded
                        pass
                self.records.append(record)
        return self.records[first:]

    def remove_records(self) -> None:
        """Remove the records of single shards: the folder is about to be finished."""
        for number in range(len(self.records)):
            (self.folder / RECORD.format(number)).unlink()

    def _finished(self, number: int) -> ShardRecord | None:
        """The record of a shard that an interrupted run wrote, if its files are still right."""
        try:
            data = read_file(self.folder / RECORD.format(number), max_bytes=MAX_RECORD_BYTES)
            record = ShardRecord(**read_json(data))
            right = all(
                file_checksum(self.folder / name) == listed for name, listed in record.files.items()
            )
            return record if right and set(record.files) == set(shard_files(number)) else None
        except (OSError, UnsafeFile, ValueError, TypeError, AttributeError):
            return None

    def _write(self, number: int, chunks: Iterator[EncodedChunk]) -> ShardRecord:
        names, dropped, pairs = shard_files(number), Counter[str](), 0
        tokens = dict.fromkeys(SIDES, 0)
        with ExitStack() as stack:
            files = [stack.enter_context(open(self.folder / name, "wb")) for name in names]
            for at in range(len(SIDES)):
                files[len(PARTS) * at + 1].write(np.zeros(1, self.types.offsets).tobytes())
            for chunk in chunks:
                pairs += chunk.pairs
                dropped.update(chunk.dropped)
                for at, side in enumerate(SIDES):
                    lengths = np.frombuffer(chunk.lengths[at], "<u4").astype(np.int64)
                    ends = tokens[side] + np.cumsum(lengths)
                    tokens[side] += int(lengths.sum())
                    files[len(PARTS) * at].write(chunk.ids[at])
                    files[len(PARTS) * at + 1].write(ends.astype(self.types.offsets).tobytes())
        checksums = {}
        for name in names:
            sync(self.folder / name)
            checksums[name] = file_checksum(self.folder / name)
        record = ShardRecord(pairs, tokens, dict(dropped), checksums)
        path = self.folder / RECORD.format(number)
        path.with_suffix(".part").write_bytes(to_json_bytes(asdict(record)))
        path.with_suffix(".part").replace(path)
        return record


class _Workers:
    """Encodes chunks in order: the first ones here, the others in several processes."""

    def __init__(self, encode: Encode, workers: int) -> None:
        self._encode, self._workers, self._alone = encode, workers, ALONE_CHUNKS
        self._executor: Executor | None = None

    def __enter__(self) -> "_Workers":
        return self

    def __exit__(self, *error: object) -> None:
        if self._executor:
            self._executor.shutdown(cancel_futures=True)

    def encode(self, chunks: Iterable[list[Pair]]) -> Iterator[EncodedChunk]:
        """The encoded chunks, in order."""
        remaining = iter(chunks)
        while self._workers == 1 or self._alone > 0:
            chunk = next(remaining, None)
            if chunk is None:
                return
            self._alone -= 1
            yield self._encode(chunk)
        waiting = deque[Future[EncodedChunk]]()
        try:
            for chunk in remaining:
                waiting.append(self._start().submit(self._encode, chunk))
                if len(waiting) >= AHEAD * self._workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise UserError(
                "a process that encodes has been killed; look whether there is memory enough, or take "
                f"fewer with {spell_option('workers')}; the same command continues"
            ) from None

    def _start(self) -> Executor:
        if self._executor is None:
            context = get_context("spawn")
            self._executor = ProcessPoolExecutor(
                self._workers, mp_context=context, initializer=start_worker
            )
        return self._executor


@lru_cache(maxsize=2)
def _load(path: Path) -> Tokenizer:
    """The codec in a file, once in each process."""
    return Tokenizer.load(path)


def start_worker() -> None:
    """Prepare a process of the pool: it encodes with one thread, and ends with its parent.

    A pool's pipes are open in all of its processes, so they do not see that a killed parent is gone.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := parent_process():
        wait([parent.sentinel])
        os._exit(1)


def _chunks(pairs: Iterator[Pair]) -> Iterator[list[Pair]]:
    while chunk := list(islice(pairs, CHUNK_PAIRS)):
        yield chunk


def _prepend(first: list[Pair], others: Iterator[list[Pair]]) -> Iterator[list[Pair]]:
    yield first
    yield from others
