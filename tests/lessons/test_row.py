"""One row of numbers, or a line that shows one."""

import pytest

from dhyan.errors import UserError
from dhyan.lessons.given import row


def test_a_row_of_numbers_is_taken_as_it_is():
    assert row("x", [1, 0.5], count=2).tolist() == [1, 0.5]


@pytest.mark.parametrize("given", [[[1, 0], [0, 1]], [], 3, "1 0", ["a"], [1, [2]], None])
def test_what_is_no_row_is_answered_with_one(given):
    with pytest.raises(UserError, match=r"^x: not numbers in one row, such as \[1, 0\]$"):
        row("x", given)


def test_too_many_numbers_and_those_without_end_are_refused():
    with pytest.raises(UserError, match="x: the numbers are 3; give 2"):
        row("x", [1, 2, 3], count=2)
    with pytest.raises(UserError, match="x: has a number that is not finite"):
        row("x", [1, float("inf")])
