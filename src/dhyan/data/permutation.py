"""A shuffled order that is computed, not stored, so it needs no memory however long it is."""

import numpy as np
from jaxtyping import Int64, Integer, UInt64

ROUNDS = 8  # an even number, so that the two halves end as wide as they began
GOLDEN = 0x9E3779B97F4A7C15
WORD = 2**64 - 1


def stir(value: int) -> int:
    """The output function of splitmix64 (Steele, Lea and Flood, 2014): 64 well-stirred bits."""
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & WORD
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & WORD
    return value ^ value >> 31


def derive(*parts: int) -> int:
    """One 64-bit key from a few integers; other integers, or more of them, give another key."""
    key = len(parts)
    for part in parts:
        key = stir((key + part + GOLDEN) & WORD)
    return key


class Permutation:
    """A bijection of 0 … size − 1, chosen by a key such as (seed, epoch), the same everywhere.

    A Feistel network shuffles the next power of two; a value that lands outside is shuffled again
    until it lands inside (cycle walking; Black and Rogaway, 2002).
    """

    def __init__(self, size: int, key: tuple[int, ...]) -> None:
        if not 1 <= size <= 2**62:
            raise ValueError(f"size is {size}; a permutation has between 1 and 2**62 members")
        bits = max(6, (size - 1).bit_length())  # narrower halves have too few ways to be stirred
        self.size = size
        self._widths = (bits - bits // 2, bits // 2)
        self._keys = [stir((derive(*key) + step * GOLDEN) & WORD) for step in range(1, ROUNDS + 1)]

    def permute(self, indices: Integer[np.ndarray, " N"]) -> Int64[np.ndarray, " N"]:
        """Where each index goes."""
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.size:
            raise ValueError(f"indices must lie between 0 and {self.size - 1}")
        places = self._shuffle(indices.astype(np.uint64))
        outside = np.flatnonzero(places >= self.size)
        while len(outside):
            places[outside] = self._shuffle(places[outside])
            outside = outside[places[outside] >= self.size]
        return places.astype(np.int64)

    def _shuffle(self, values: UInt64[np.ndarray, " N"]) -> UInt64[np.ndarray, " N"]:
        """The network: each round one half, stirred with a key, says how to change the other."""
        high, low = self._widths
        left, right = values >> low, values & (2**low - 1)
        for key in self._keys:
            # `left` is `high` bits wide and `right` is `low`; the halves change places each round.
            stirred = (right ^ key) * 0xBF58476D1CE4E5B9
            stirred ^= stirred >> 32
            stirred *= 0x94D049BB133111EB
            left, right = right, left ^ stirred >> (64 - high)
            high, low = low, high
        return left << low | right
