"""Keyed permutations: a shuffled order that is computed, not stored."""

import numpy as np
from jaxtyping import Int64, Integer, UInt64

from dhyan.seeds import GOLDEN_RATIO, MASK_64, derive_seed, mix_bits

ROUNDS = 8  # an even number, so that the two halves end as wide as they began


class Permutation:
    """A bijection of 0 … size − 1, chosen by a key such as (seed, epoch), the same everywhere.

    A Feistel network shuffles the next power of two; a value that lands outside is shuffled again
    until it lands inside (cycle walking; Black and Rogaway, 2002).
    """

    def __init__(self, size: int, key: tuple[int, ...]) -> None:
        if not 1 <= size <= 2**62:
            raise ValueError(f"size is {size}; a permutation has between 1 and 2**62 elements")
        bits = max(6, (size - 1).bit_length())  # narrower halves are mixed too little
        self.size = size
        self._widths = (bits - bits // 2, bits // 2)
        self._keys = [
            mix_bits((derive_seed(*key) + step * GOLDEN_RATIO) & MASK_64)
            for step in range(1, ROUNDS + 1)
        ]

    def permute(self, indices: Integer[np.ndarray, " N"]) -> Int64[np.ndarray, " N"]:
        """The image of each index."""
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.size:
            raise ValueError(f"indices must lie between 0 and {self.size - 1}")
        images = self._shuffle(indices.astype(np.uint64))
        outside = np.flatnonzero(images >= self.size)
        while len(outside):
            images[outside] = self._shuffle(images[outside])
            outside = outside[images[outside] >= self.size]
        return images.astype(np.int64)

    def _shuffle(self, values: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
        """The Feistel network: in each round one half, mixed with a key, changes the other."""
        high, low = self._widths
        left, right = values >> low, values & (2**low - 1)
        for key in self._keys:
            # `left` is `high` bits wide and `right` is `low`; the halves are swapped each round.
            mixed = (right ^ key) * 0xBF58476D1CE4E5B9
            mixed ^= mixed >> 32
            mixed *= 0x94D049BB133111EB
            left, right = right, left ^ mixed >> (64 - high)
            high, low = low, high
        return left << low | right
