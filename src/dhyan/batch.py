"""Padded batches of token ids: `Tokens` of one language, `Batch` of source and target."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
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
    def lengths(self) -> Int[Tensor, " B"]:
        """The number of tokens of each row, without padding."""
        return self.mask.sum(dim=1)

    @property
    def count(self) -> int:
        """The number of tokens of the batch, without padding."""
        return int(self.mask.sum())

    def select(self, rows: Int[Tensor, " R"]) -> "Tokens":
        """These rows; they may be repeated, dropped or reordered."""
        return Tokens(self.ids[rows], self.mask[rows])

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


def reversed_positions(mask: Bool[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """Indices that reverse each row without its padding."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = mask.sum(dim=1, keepdim=True) - 1
    return torch.where(mask, last - positions, positions)


@dataclass(frozen=True)
class Batch:
    """Source sentences, each ending in EOS, with their translations, each wrapped in BOS … EOS."""

    source: Tokens
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
