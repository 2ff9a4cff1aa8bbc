"""Memory-mapped shards: a corpus as token ids in many files, of which only what is needed is read."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64, Integer, Shaped, UInt64

from dhyan.batch import Tokens
from dhyan.data.store import Resegment, TokenSequences

SIDES = ("source", "target")
PARTS = ("ids", "offsets")
OLD_FILES = tuple(f"{side}.{part}" for side in SIDES for part in PARTS)  # of format 1
OLD_TYPES = ("<i4", "<i8")


@dataclass(frozen=True)
class ShardType:
    """The types of numbers in the files of shards, little-endian: the smallest that suffice."""

    ids: str
    offsets: str

    @classmethod
    def of(cls, vocabulary_size: int, most_tokens: int) -> "ShardType":
        """The types for so many different ids, and so many tokens in one shard."""
        return cls(
            "<u2" if vocabulary_size <= 2**16 else "<u4", "<u4" if most_tokens < 2**32 else "<u8"
        )


def shard_files(number: int) -> tuple[str, ...]:
    """The names of the files of a shard."""
    return tuple(f"{side}-{number:05}.{part}" for side in SIDES for part in PARTS)


@dataclass(frozen=True)
class TokenShard:
    """The sequences of one side of a shard; its files are mapped when it is first read."""

    files: tuple[str, str]
    types: ShardType

    @cached_property
    def ids(self) -> Integer[np.ndarray, " W"]:
        """The sequences end to end."""
        return _memory_map(self.files[0], self.types.ids)

    @cached_property
    def offsets(self) -> Integer[np.ndarray, " M"]:
        """Where each sequence begins, and at last where the last one ends."""
        return _memory_map(self.files[1], self.types.offsets)

    def spans(
        self, rows: Int64[np.ndarray, " R"]
    ) -> tuple[Int64[np.ndarray, " R"], Int64[np.ndarray, " R"]]:
        """Where each of these sequences begins, and its length."""
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        return starts.astype(np.int64), (ends - starts).astype(np.int64)


@dataclass(frozen=True)
class ShardedSequences:
    """Sequences in shards, numbered through; `first_rows` has the first number of each shard."""

    shards: tuple[TokenShard, ...]
    first_rows: Int64[np.ndarray, " K"]
    size: int

    def lengths(self, rows: Int64[np.ndarray, " R"]) -> Int64[np.ndarray, " R"]:
        """The number of tokens of each of these sequences."""
        lengths = np.empty(len(rows), np.int64)
        for shard, chosen, own_rows in self._by_shard(rows):
            lengths[chosen] = shard.spans(own_rows)[1]
        return lengths

    def padded(self, rows: Int64[np.ndarray, " R"]) -> Tokens:
        """These sequences as one padded batch."""
        return self.read(rows).padded(np.arange(len(rows)))

    def resegmented(
        self,
        rows: Int64[np.ndarray, " R"],
        dropout: Resegment,
        *,
        max_length: int,
        seeds: UInt64[np.ndarray, " R"],
    ) -> TokenSequences:
        """These sequences alone, resegmented; one that would pass `max_length` stays as it is."""
        rows_read = np.arange(len(rows))
        return self.read(rows).resegmented(rows_read, dropout, max_length=max_length, seeds=seeds)

    def read(self, rows: Int64[np.ndarray, " R"]) -> TokenSequences:
        """These sequences alone, in memory."""
        starts, lengths = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        parts = list(self._by_shard(rows))
        for shard, chosen, own_rows in parts:
            starts[chosen], lengths[chosen] = shard.spans(own_rows)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        ids = np.empty(offsets[-1], np.int32)
        for shard, chosen, _ in parts:
            read = shard.ids[_spread(starts[chosen], lengths[chosen])]
            ids[_spread(offsets[chosen], lengths[chosen])] = read
        return TokenSequences(ids, offsets)

    def __len__(self) -> int:
        return self.size

    def _by_shard(
        self, rows: Int64[np.ndarray, " R"]
    ) -> Iterator[tuple[TokenShard, Int64[np.ndarray, " C"], Int64[np.ndarray, " C"]]]:
        """Each shard that holds some of the rows: which of them, and their numbers within it."""
        numbers = np.searchsorted(self.first_rows, rows, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        ends = np.flatnonzero(np.diff(numbers[order])) + 1
        for chosen in np.split(order, ends) if len(rows) else ():
            number = numbers[chosen[0]]
            yield self.shards[number], chosen, rows[chosen] - self.first_rows[number]


def open_shards(
    folder: Path, sizes: Sequence[int], types: ShardType
) -> tuple[ShardedSequences, ShardedSequences]:
    """Sources and targets of the shards of a folder, with so many pairs each."""
    names = [shard_files(number) for number in range(len(sizes))]
    return _open(folder, names, sizes, types)


def open_old_files(folder: Path, size: int) -> tuple[ShardedSequences, ShardedSequences]:
    """Sources and targets of a folder of format 1, which has one file of each sort."""
    return _open(folder, [OLD_FILES], [size], ShardType(*OLD_TYPES))


def _open(
    folder: Path, names: Sequence[Sequence[str]], sizes: Sequence[int], types: ShardType
) -> tuple[ShardedSequences, ShardedSequences]:
    first_rows = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64)
    source, target = (
        ShardedSequences(
            tuple(
                TokenShard((f"{folder}/{files[at]}", f"{folder}/{files[at + 1]}"), types)
                for files in names
            ),
            first_rows,
            sum(sizes),
        )
        for at in (0, 2)
    )
    return source, target


def _spread(
    starts: Int64[np.ndarray, " C"], lengths: Int64[np.ndarray, " C"]
) -> Int64[np.ndarray, " W"]:
    """Every position of spans that begin at `starts`, span after span."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


def _memory_map(path: str, dtype: str) -> Shaped[np.ndarray, " N"]:
    """The numbers of a file, mapped by torch, which keeps no file open: there may be thousands."""
    size = os.path.getsize(path)
    if not size:
        return np.empty(0, dtype)
    numbers = torch.from_file(path, size=size, dtype=torch.uint8).numpy().view(dtype)
    numbers.flags.writeable = False
    return numbers
