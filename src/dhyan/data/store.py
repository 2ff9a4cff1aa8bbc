"""Token store: a corpus as token ids, in memory or memory-mapped, padded into batches."""

from array import array
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int32, Int64, Num, UInt64

from dhyan.batch import Batch, Frames, Tokens
from dhyan.data.mixture import Mixture
from dhyan.seeds import derive_seeds
from dhyan.special_tokens import PAD

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


@runtime_checkable
class Sequences(Protocol):
    """Sequences of token ids by number: in memory, or in memory-mapped shards."""

    def lengths(self, rows: Int64[np.ndarray, " R"]) -> Int64[np.ndarray, " R"]:
        """The number of tokens of each of these sequences."""
        ...

    def padded(self, rows: Int64[np.ndarray, " R"]) -> Tokens:
        """These sequences as one padded batch."""
        ...

    def resegmented(
        self,
        rows: Int64[np.ndarray, " R"],
        dropout: Resegment,
        *,
        max_length: int,
        seeds: UInt64[np.ndarray, " R"],
    ) -> "TokenSequences":
        """These sequences alone, resegmented; one that would pass `max_length` stays as it is."""
        ...

    def __len__(self) -> int: ...


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

    def __len__(self) -> int:
        return len(self.offsets) - 1


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

    def __len__(self) -> int:
        return len(self.offsets) - 1


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

    source: Sequences | FrameSequences
    target: Sequences
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
        assert not isinstance(self.source, FrameSequences), "frames have no BPE dropout"
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
        return len(self.source)
