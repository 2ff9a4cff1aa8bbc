"""Seeds and random numbers of splitmix64 (Steele, Lea and Flood, 2014): the same everywhere."""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

GOLDEN_RATIO = 0x9E3779B97F4A7C15
MASK_64 = 2**64 - 1

Bits = TypeVar("Bits", int, NDArray[np.uint64])


def mix_bits(value: Bits) -> Bits:
    """The output function of splitmix64: 64 well-mixed bits, of an integer or of each of an array."""
    bits: Any = value
    bits = ((bits ^ bits >> 30) * 0xBF58476D1CE4E5B9) & MASK_64
    bits = ((bits ^ bits >> 27) * 0x94D049BB133111EB) & MASK_64
    return bits ^ bits >> 31


def derive_seed(*parts: int) -> int:
    """A 64-bit seed from a few integers; other integers, or more of them, give another seed."""
    return cast("int", _derive(parts))


def derive_seeds(*parts: int | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`derive_seed` for every element of the parts that are arrays, one at least."""
    return cast("NDArray[np.uint64]", _derive(parts))


def _derive(parts: Sequence[Any]) -> Any:
    key: Any = len(parts)
    for part in parts:
        key = mix_bits((key + (part & MASK_64) + GOLDEN_RATIO) & MASK_64)
    return key


class SplitMix64:
    """The random number generator splitmix64: a 64-bit integer with each call."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def __call__(self) -> int:
        """The next number."""
        self._state = (self._state + GOLDEN_RATIO) & MASK_64
        return mix_bits(self._state)
