"""How often each corpus of several comes in an epoch."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from jaxtyping import Int64

from dhyan.data.permutation import Permutation

CIRCLE = (0, 0)  # keeps the key apart from those of the epochs


@dataclass(frozen=True)
class Mixture:
    """Corpora that lie end to end, each with the number of times its pairs come an epoch.

    Of weight 2.3 every pair comes twice, and three tenths of them once more. These tenths are the
    next ones each epoch, around a keyed circle of all pairs, so that after any number of epochs no
    pair has come more than once oftener than another of its corpus. Nothing is stored.
    """

    sizes: tuple[int, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.weights) or min(self.weights) <= 0 or min(self.sizes) < 1:
            raise ValueError(f"{self.sizes=} and {self.weights=} must be positive, and as many")

    @property
    def turns(self) -> tuple[int, ...]:
        """How many examples of each corpus an epoch holds."""
        return tuple(
            int(weight) * size + self._extra(number)
            for number, (size, weight) in enumerate(zip(self.sizes, self.weights, strict=True))
        )

    def __len__(self) -> int:
        return sum(self.turns)

    def rows(
        self, places: Int64[np.ndarray, " N"], *, epoch: int, seed: int
    ) -> Int64[np.ndarray, " N"]:
        """The examples that stand at these of an epoch's places."""
        ends = np.array(list(accumulate(self.turns)))
        owners = np.searchsorted(ends, places, side="right")
        rows = np.empty_like(places)
        first = 0
        for number, size in enumerate(self.sizes):
            mine = owners == number
            turns = places[mine] - (ends[number] - self.turns[number])
            rows[mine] = first + self._within(number, turns, epoch, seed)
            first += size
        return rows

    def _within(
        self, number: int, turns: Int64[np.ndarray, " N"], epoch: int, seed: int
    ) -> Int64[np.ndarray, " N"]:
        """Which pair of its own corpus each turn takes: first the whole rounds, then the extra."""
        size, whole = self.sizes[number], int(self.weights[number]) * self.sizes[number]
        extra = turns >= whole
        rows = turns % size
        begun = epoch * self._extra(number) % size
        circle = Permutation(size, (seed, number, *CIRCLE))
        rows[extra] = circle.permute((begun + turns[extra] - whole) % size)
        return rows

    def _extra(self, number: int) -> int:
        size, weight = self.sizes[number], self.weights[number]
        extra = int((weight - int(weight)) * size + 0.5)
        return extra if weight >= 1 else max(1, extra)
