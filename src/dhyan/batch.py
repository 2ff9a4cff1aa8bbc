"""Padded batches: `Tokens` (ids), `Frames` (vectors in place of tokens), `Batch` of both sides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int, Num
from torch import Tensor

from dhyan.special_tokens import PAD


@dataclass(frozen=True)
class Tokens:
    """Token ids of sentences, padded on the right; `mask` is True for tokens, False for padding."""

    ids: Int[Tensor, "B S"]
    mask: Bool[Tensor, "B S"]

    @classmethod
    def pad(cls, sentences: Sequence[Sequence[int]]) -> "Tokens":
        """Pad sentences of different lengths into one batch."""
        length = max(map(len, sentences))
        ids = torch.tensor([[*row, *[PAD] * (length - len(row))] for row in sentences])
        lengths = torch.tensor([len(row) for row in sentences])
        return cls(ids, torch.arange(length) < lengths.unsqueeze(1))

    @property
    def inputs(self) -> Int[Tensor, "B S"]:
        """What an embedding takes: the ids."""
        return self.ids

    @property
    def shape(self) -> torch.Size:
        """The shape of the padded ids."""
        return self.ids.shape

    @property
    def lengths(self) -> Int[Tensor, " B"]:
        """The number of tokens of each row, without padding."""
        return self.mask.sum(dim=1)

    @property
    def count(self) -> int:
        """The number of tokens of the batch, without padding."""
        return int(self.mask.sum())

    def select(self, rows: Int[Tensor, " R"] | slice) -> "Tokens":
        """These rows; they may be repeated, dropped or reordered."""
        return Tokens(self.ids[rows], self.mask[rows])

    def padded(self, rows: int, width: int, *, first: int) -> "Tokens":
        """The same with more padding, and with more rows that hold the token `first` alone."""
        count, length = self.ids.shape
        ids = torch.full((rows, width), PAD)
        mask = torch.zeros(rows, width, dtype=torch.bool)
        ids[:count, :length] = self.ids
        mask[:count, :length] = self.mask
        ids[count:, 0] = first
        mask[count:, 0] = True
        return Tokens(ids, mask)

    def clone(self) -> "Tokens":
        """A copy."""
        return Tokens(self.ids.clone(), self.mask.clone())

    def pinned(self) -> "Tokens":
        """A copy in pinned memory."""
        return Tokens(self.ids.pin_memory(), self.mask.pin_memory())

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Both tensors."""
        return self.ids, self.mask

    def backwards(self) -> "Tokens":
        """Every sentence reversed; the padding stays on the right."""
        return Tokens(self.ids.gather(1, reversed_positions(self.mask)), self.mask)

    def without(self, token: int) -> "Tokens":
        """The same rows, in which this token counts as padding."""
        return Tokens(self.ids, self.mask & (self.ids != token))

    def to(self, device: torch.device | str) -> "Tokens":
        """The same tokens on another device."""
        return Tokens(
            self.ids.to(device, non_blocking=True), self.mask.to(device, non_blocking=True)
        )

    def __getitem__(self, columns: slice) -> "Tokens":
        return Tokens(self.ids[:, columns], self.mask[:, columns])

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Frames:
    """Vectors in place of tokens: parts of a picture, moments of a sound, characters of a word.

    Sequences are padded on the right with zeros; `mask` is True for frames, False for padding.
    """

    values: Num[Tensor, "B S F"]
    mask: Bool[Tensor, "B S"]

    @classmethod
    def pad(cls, sequences: Sequence[Num[np.ndarray, "_ F"]]) -> "Frames":
        """Pad sequences of different lengths into one batch."""
        lengths = np.array([len(sequence) for sequence in sequences])
        values = np.zeros(
            (len(sequences), lengths.max(), sequences[0].shape[1]), sequences[0].dtype
        )
        for row, sequence in enumerate(sequences):
            values[row, : len(sequence)] = sequence
        mask = np.arange(lengths.max()) < lengths[:, None]
        return cls(torch.from_numpy(values), torch.from_numpy(mask))

    @property
    def inputs(self) -> "Frames":
        """What a stem takes: the vectors and which of them are real."""
        return self

    @property
    def shape(self) -> torch.Size:
        """The shape of the padded vectors."""
        return self.values.shape

    @property
    def lengths(self) -> Int[Tensor, " B"]:
        """The number of frames of each row, without padding."""
        return self.mask.sum(dim=1)

    @property
    def count(self) -> int:
        """The number of frames of the batch, without padding."""
        return int(self.mask.sum())

    def select(self, rows: Int[Tensor, " R"] | slice) -> "Frames":
        """These rows; they may be repeated, dropped or reordered."""
        return Frames(self.values[rows], self.mask[rows])

    def padded(self, rows: int, width: int, *, first: int) -> "Frames":
        """The same with more padding, and with more rows that hold one frame of zeros."""
        count, length, size = self.values.shape
        values = self.values.new_zeros(rows, width, size)
        mask = torch.zeros(rows, width, dtype=torch.bool)
        values[:count, :length] = self.values
        mask[:count, :length] = self.mask
        mask[count:, 0] = True
        return Frames(values, mask)

    def clone(self) -> "Frames":
        """A copy."""
        return Frames(self.values.clone(), self.mask.clone())

    def pinned(self) -> "Frames":
        """A copy in pinned memory."""
        return Frames(self.values.pin_memory(), self.mask.pin_memory())

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Both tensors."""
        return self.values, self.mask

    def without(self, token: int) -> "Frames":
        """The same frames: none of them is a token."""
        return self

    def to(self, device: torch.device | str) -> "Frames":
        """The same frames on another device."""
        return Frames(
            self.values.to(device, non_blocking=True), self.mask.to(device, non_blocking=True)
        )

    def __len__(self) -> int:
        return len(self.values)


Source = Tokens | Frames
"""What an encoder reads."""


def pad_source(sequences: Sequence[Any]) -> Source:
    """Pad sources of different lengths, all token ids or all frames, into one batch."""
    if isinstance(sequences[0], np.ndarray):
        return Frames.pad(sequences)
    return Tokens.pad(sequences)


def reversed_positions(mask: Bool[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """Indices that reverse each row without its padding."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = mask.sum(dim=1, keepdim=True) - 1
    return torch.where(mask, last - positions, positions)


@dataclass(frozen=True)
class Batch:
    """Sources with their targets, each wrapped in BOS … EOS; a source of tokens ends in EOS."""

    source: Source
    target: Tokens

    @property
    def inputs(self) -> Tokens:
        """The decoder's input under teacher forcing: the target without its last token."""
        return self.target[:-1]

    @property
    def labels(self) -> Tokens:
        """The labels: the target without its first token."""
        return self.target[1:]

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        return Batch(self.source.to(device), self.target.to(device))

    def clone(self) -> "Batch":
        """A copy."""
        return Batch(self.source.clone(), self.target.clone())

    def pinned(self) -> "Batch":
        """A copy in pinned memory, from which a GPU reads without waiting."""
        return Batch(self.source.pinned(), self.target.pinned())

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors of the batch."""
        return *self.source.tensors, *self.target.tensors

    def copy_(self, other: "Batch") -> None:
        """Take over the values of a batch of the same shape, in place."""
        for mine, theirs in zip(self.tensors, other.tensors, strict=True):
            mine.copy_(theirs)
