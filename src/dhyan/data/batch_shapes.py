"""The few shapes that batches for a GPU have, so that each of them comes often."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64

from dhyan.batch import Batch, Tokens
from dhyan.data.examples import Examples
from dhyan.special_tokens import BOS, EOS, PAD

Rows = Int64[np.ndarray, " _"]
FINE = 8  # so many times the multiple, lengths are told apart by the multiple itself


@dataclass(frozen=True, kw_only=True)
class Frames:
    """Which lengths and numbers of rows a batch may have; all others are rounded up to them.

    Lengths are multiples of `multiple`, from eight times that on of twice as much, and so on, but
    none is over `longest`. The target is as long as what the decoder is told of it. A batch has as
    many rows as the budget allows its longer side; one that is not full has a half of that, a
    quarter, and so on.
    """

    tokens_per_batch: int
    multiple: int
    longest: int

    def lengths(self, lengths: Int64[np.ndarray, " N"]) -> Int64[np.ndarray, " N"]:
        """Every length, rounded up."""
        units = -(-lengths // self.multiple)
        coarse = 2 ** np.maximum(np.ceil(np.log2(units / FINE)), 0).astype(np.int64)
        wide = -(-units // coarse) * coarse * self.multiple
        return np.maximum(lengths, np.minimum(wide, self.longest))

    def most(self, lengths: Int64[np.ndarray, " N"]) -> Int64[np.ndarray, " N"]:
        """How many rows of each length a full batch has, a multiple where there are so many."""
        rows = np.maximum(1, self.tokens_per_batch // lengths)
        return np.where(rows < self.multiple, rows, rows - rows % self.multiple)

    def rows(self, count: int, length: int) -> int:
        """The rows of a batch that is to hold so many of this length."""
        rows = int(self.most(np.array([length]))[0])
        while count <= (half := -(-rows // 2)) < rows:
            rows = half
        return rows

    def cut(self, examples: Examples, rows: Rows) -> list[Rows]:
        """Part rows into batches: by target, then by source, so that neither side has much padding.

        Sources go up and down in turn, so that those about the end of one target length and the
        beginning of the next, which may share a batch, are alike.
        """
        plain, told = examples.lengths(rows)
        sources, targets = self.lengths(plain), self.lengths(told - 1)
        turns = np.unique(targets, return_inverse=True)[1] % 2
        order = np.lexsort((np.where(turns, -plain, plain), targets))
        longer = np.maximum(sources, targets)[order]
        cuts, start = [], 0
        while start < len(order):
            reach = longer[start : start + self.most(longer[start : start + 1])[0]]
            allowed = self.most(np.maximum.accumulate(reach))
            fitting = np.arange(1, len(reach) + 1) <= allowed
            start += len(reach) if fitting.all() else max(1, int(fitting.argmin()))
            cuts.append(start)
        return np.split(rows[order], cuts[:-1])

    def framed(self, batch: Batch) -> Batch:
        """A batch in the shape it is to have; an added row reads EOS, and has nothing to say."""
        widths = (batch.source.ids.shape[1], batch.target.ids.shape[1] - 1)
        source, target = self.lengths(np.array(widths)).tolist()
        rows = self.rows(len(batch.source), max(source, target))
        return Batch(
            _wider(batch.source, rows, source, first=EOS),
            _wider(batch.target, rows, target + 1, first=BOS),
        )


def _wider(tokens: Tokens, rows: int, width: int, *, first: int) -> Tokens:
    """The same tokens with more rows, of one token each, and more padding."""
    count, before = tokens.ids.shape
    ids = torch.full((rows, width), PAD)
    mask = torch.zeros(rows, width, dtype=torch.bool)
    ids[:count, :before] = tokens.ids
    mask[:count, :before] = tokens.mask
    ids[count:, 0] = first
    mask[count:, 0] = True
    return Tokens(ids, mask)
