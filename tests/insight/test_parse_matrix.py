"""Vectors that a user enters."""

import pytest

from dhyan.errors import UserError
from dhyan.insight.parse_matrix import parse_vector


def test_a_vector_is_parsed():
    assert parse_vector("x", [1, 0.5], count=2).tolist() == [1, 0.5]


@pytest.mark.parametrize("value", [[[1, 0], [0, 1]], [], 3, "1 0", ["a"], [1, [2]], None])
def test_what_is_not_a_vector_is_an_error_with_an_example(value):
    with pytest.raises(UserError, match=r"^x: not numbers in one row, such as \[1, 0\]$"):
        parse_vector("x", value)


def test_too_many_or_infinite_numbers_are_errors():
    with pytest.raises(UserError, match="x: the numbers are 3; give 2"):
        parse_vector("x", [1, 2, 3], count=2)
    with pytest.raises(UserError, match="x: has a number that is not finite"):
        parse_vector("x", [1, float("inf")])
