"""Mixture of corpora by weight: how many times an epoch repeats the pairs of each."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from jaxtyping import Int64

from dhyan.data.permutation import Permutation

CYCLE_KEY = (0, 0)  # makes the key differ from those of the epochs


@dataclass(frozen=True)
class Mixture:
    """Concatenated corpora, each with its weight: how many times an epoch repeats its pairs.

    With weight 2.3 every pair comes twice, and three tenths of the pairs once more. Each epoch
    takes the next three tenths of a keyed cycle of all pairs, so that after any number of epochs
    the counts of two pairs of a corpus differ by at most one. Nothing is stored.
    """

    sizes: tuple[int, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.weights) or min(self.weights) <= 0 or min(self.sizes) < 1:
            raise ValueError(f"{self.sizes=} and {self.weights=} must be positive, and as many")

    @property
    def epoch_sizes(self) -> tuple[int, ...]:
        """How many examples of each corpus an epoch holds."""
        return tuple(
            int(weight) * size + self._extra(corpus)
            for corpus, (size, weight) in enumerate(zip(self.sizes, self.weights, strict=True))
        )

    def __len__(self) -> int:
        return sum(self.epoch_sizes)

    def rows(
        self, positions: Int64[np.ndarray, " N"], *, epoch: int, seed: int
    ) -> Int64[np.ndarray, " N"]:
        """The examples at these positions of an epoch."""
        ends = np.array(list(accumulate(self.epoch_sizes)))
        corpora = np.searchsorted(ends, positions, side="right")
        rows = np.empty_like(positions)
        first_row = 0
        for corpus, size in enumerate(self.sizes):
            selected = corpora == corpus
            offsets = positions[selected] - (ends[corpus] - self.epoch_sizes[corpus])
            rows[selected] = first_row + self._corpus_rows(corpus, offsets, epoch, seed)
            first_row += size
        return rows

    def _corpus_rows(
        self, corpus: int, offsets: Int64[np.ndarray, " N"], epoch: int, seed: int
    ) -> Int64[np.ndarray, " N"]:
        """The rows of a corpus at these offsets: first its full repetitions, then the fraction."""
        size, full = self.sizes[corpus], int(self.weights[corpus]) * self.sizes[corpus]
        extra = offsets >= full
        rows = offsets % size
        cycle_start = epoch * self._extra(corpus) % size
        cycle = Permutation(size, (seed, corpus, *CYCLE_KEY))
        rows[extra] = cycle.permute((cycle_start + offsets[extra] - full) % size)
        return rows

    def _extra(self, corpus: int) -> int:
        """How many pairs come once more than the integer part of the weight."""
        size, weight = self.sizes[corpus], self.weights[corpus]
        extra = int((weight - int(weight)) * size + 0.5)
        return extra if weight >= 1 else max(1, extra)
