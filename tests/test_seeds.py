"""Seeds and random numbers of splitmix64."""

from itertools import product

import numpy as np

from dhyan.seeds import SplitMix64, derive_seed, derive_seeds


def test_the_numbers_are_those_of_the_reference_generator():
    draw = SplitMix64(0)
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [draw() for _ in range(3)] == expected
    assert 0 <= SplitMix64(2**64 - 1)() < 2**64


def test_other_integers_give_another_seed():
    parts = [(), *product((-1, 0, 1, 2**63), repeat=1), *product((-1, 0, 1), repeat=2)]
    assert len({derive_seed(*integers) for integers in parts}) == len(parts)


def test_seeds_of_arrays_are_those_of_their_elements():
    numbers = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)
    for others in ((7, -1), (2**64 - 1,), ()):
        expected = [derive_seed(*others, number, 2) for number in numbers.tolist()]
        assert derive_seeds(*others, numbers, 2).tolist() == expected
