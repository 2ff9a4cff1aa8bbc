"""Token store: a corpus as token ids, in memory or memory-mapped, padded into batches."""

from array import array
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int32, Int64, Num, Shaped, UInt64

from dhyan.batch import Batch, Frames, Tokens
from dhyan.data.mixture import Mixture
from dhyan.seeds import derive_seeds
from dhyan.special_tokens import PAD

SIDES = ("source", "target")
FILES = tuple(f"{side}.{part}" for side in SIDES for part in ("ids", "offsets"))
SPECIAL_TOKENS = {"source": 1, "target": 2}  # EOS; BOS and EOS


@runtime_checkable
class Resegment(Protocol):
    """Other token ids of the same texts, sampled by seeds: a MergeDropout."""

    def resegment(
        self,
        ids: Int32[np.ndarray, " W"],
        starts: Int64[np.ndarray, " N"],
        ends: Int64[np.ndarray, " N"],
        seeds: UInt64[np.ndarray, " N"],
        *,
        max_length: int,
    ) -> tuple[Int32[np.ndarray, " V"], Int64[np.ndarray, " M"]]:
        """Segmentations of the sequences ids[start : end] end to end, and where each begins."""
        ...


@dataclass(frozen=True)
class TokenSequences:
    """Sequences end to end; sequence i is ids[offsets[i] : offsets[i + 1]]."""

    ids: Int32[np.ndarray, " W"]
    offsets: Int64[np.ndarray, " M"]

    def lengths(self, rows: Int64[np.ndarray, " R"]) -> Int64[np.ndarray, " R"]:
        """The number of tokens of each of these sequences."""
        return self.offsets[rows + 1] - self.offsets[rows]

    def padded(self, rows: Int64[np.ndarray, " R"]) -> Tokens:
        """These sequences as one padded batch."""
        lengths = self.lengths(rows)
        columns = np.arange(lengths.max())
        mask = columns < lengths[:, None]
        positions = np.where(mask, self.offsets[rows][:, None] + columns, 0)
        ids = np.where(mask, self.ids[positions], PAD).astype(np.int64)
        return Tokens(torch.from_numpy(ids), torch.from_numpy(mask))

    def resegmented(
        self,
        rows: Int64[np.ndarray, " R"],
        dropout: Resegment,
        *,
        max_length: int,
        seeds: UInt64[np.ndarray, " R"],
    ) -> "TokenSequences":
        """These sequences alone, resegmented; one that would pass `max_length` stays as it is."""
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        resegmented = dropout.resegment(self.ids, starts, ends, seeds, max_length=max_length)
        return TokenSequences(*resegmented)


@dataclass(frozen=True)
class FrameSequences:
    """Sequences of frames end to end; sequence i is values[offsets[i] : offsets[i + 1]]."""

    values: Num[np.ndarray, "W F"]
    offsets: Int64[np.ndarray, " M"]

    def lengths(self, rows: Int64[np.ndarray, " R"]) -> Int64[np.ndarray, " R"]:
        """The number of frames of each of these sequences."""
        return self.offsets[rows + 1] - self.offsets[rows]

    def padded(self, rows: Int64[np.ndarray, " R"]) -> Frames:
        """These sequences as one padded batch."""
        starts, ends = self.offsets[rows].tolist(), self.offsets[rows + 1].tolist()
        return Frames.pad([self.values[start:end] for start, end in zip(starts, ends, strict=True)])


class FrameBuilder:
    """Collects sequences of frames in memory."""

    def __init__(self) -> None:
        self.values, self.offsets = list[Num[np.ndarray, "_ F"]](), array("q", [0])

    def add(self, frames: Num[np.ndarray, "_ F"]) -> None:
        """Append a sequence."""
        self.values.append(frames)
        self.offsets.append(self.offsets[-1] + len(frames))

    def build(self) -> FrameSequences:
        """All sequences so far."""
        return FrameSequences(np.concatenate(self.values), np.frombuffer(self.offsets, np.int64))


class SequenceBuilder:
    """Collects sequences in memory."""

    def __init__(self) -> None:
        self.ids, self.offsets = array("i"), array("q", [0])

    def add(self, ids: list[int]) -> None:
        """Append a sequence."""
        self.ids.extend(ids)
        self.offsets.append(len(self.ids))

    def build(self) -> TokenSequences:
        """All sequences so far."""
        ids, offsets = np.frombuffer(self.ids, np.int32), np.frombuffer(self.offsets, np.int64)
        return TokenSequences(ids, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class BpeDropout:
    """Resegments both sides whenever they are trained on; `max_tokens` is for each side."""

    source: Resegment
    target: Resegment
    max_tokens: int


@dataclass(frozen=True)
class Examples:
    """Every source, token ids up to EOS or frames, and its target, BOS … EOS, as token ids.

    `mixture` says how often each example comes in an epoch; without one, once.
    """

    source: TokenSequences | FrameSequences
    target: TokenSequences
    mixture: Mixture | None = None
    bpe_dropout: BpeDropout | None = None

    def lengths(
        self, rows: Int64[np.ndarray, " R"]
    ) -> tuple[Int64[np.ndarray, " R"], Int64[np.ndarray, " R"]]:
        """The number of tokens of sources and of targets, special tokens included."""
        return self.source.lengths(rows), self.target.lengths(rows)

    def resegmented(
        self, rows: Int64[np.ndarray, " R"], seeds: UInt64[np.ndarray, " R"]
    ) -> "Examples":
        """These rows alone after BPE dropout, each by its own seed."""
        assert self.bpe_dropout is not None
        assert isinstance(self.source, TokenSequences), "frames have no BPE dropout"
        max_tokens = self.bpe_dropout.max_tokens
        source, target = (
            sequences.resegmented(
                rows,
                dropout,
                max_length=max_tokens + special_tokens,
                seeds=derive_seeds(seeds, special_tokens),
            )
            for sequences, dropout, special_tokens in (
                (self.source, self.bpe_dropout.source, SPECIAL_TOKENS["source"]),
                (self.target, self.bpe_dropout.target, SPECIAL_TOKENS["target"]),
            )
        )
        return Examples(source, target)

    def batch(self, rows: Int64[np.ndarray, " R"]) -> Batch:
        """These rows, padded."""
        return Batch(self.source.padded(rows), self.target.padded(rows))

    def __len__(self) -> int:
        return len(self.source.offsets) - 1


class StoreWriter:
    """Appends pairs of token ids to the files of a store.

    Ids take four bytes each and offsets eight, little-endian.
    """

    def __init__(self, files: Mapping[str, BinaryIO]) -> None:
        self.tokens = dict.fromkeys(SIDES, 0)
        self._files = files
        for side in SIDES:
            self._files[f"{side}.offsets"].write(bytes(8))

    def add(self, source: list[int], target: list[int]) -> None:
        """Append a pair, special tokens included."""
        for side, ids in zip(SIDES, (source, target), strict=True):
            self.tokens[side] += len(ids)
            self._files[f"{side}.ids"].write(np.array(ids, "<i4").tobytes())
            self._files[f"{side}.offsets"].write(self.tokens[side].to_bytes(8, "little"))


@contextmanager
def create_store(folder: Path) -> Iterator[StoreWriter]:
    """Write a store into a folder; it is complete when the context ends."""
    with ExitStack() as stack:
        yield StoreWriter({name: stack.enter_context(open(folder / name, "wb")) for name in FILES})


def open_store(folder: Path) -> Examples:
    """The examples of a store, memory-mapped: only what a batch needs is ever read."""
    source, target = (
        TokenSequences(
            _memory_map(folder / f"{side}.ids", "<i4"),
            _memory_map(folder / f"{side}.offsets", "<i8"),
        )
        for side in SIDES
    )
    return Examples(source, target)


def _memory_map(path: Path, dtype: str) -> Shaped[np.ndarray, " N"]:
    return np.asarray(np.memmap(path, dtype=dtype, mode="r"))
