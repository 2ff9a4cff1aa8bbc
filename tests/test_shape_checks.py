"""Shape checks of the tests: enabled, and limited by a count of checks, not by time."""

import jaxtyping
import pytest
import torch

from dhyan.batch import Tokens
from tests import shape_checks


def tokens(rows, columns):
    return Tokens(torch.zeros(rows, columns, dtype=torch.long), torch.ones(rows, 3).bool())


def test_a_wrong_shape_is_an_error():
    assert tokens(2, 3).count == 6
    with pytest.raises(jaxtyping.TypeCheckError):
        tokens(2, 4)


def test_shape_checks_of_a_function_stop_after_a_count():
    for _ in range(shape_checks.CHECKS):
        tokens(2, 3)
    wrong = tokens(2, 4)
    with pytest.raises(jaxtyping.TypeCheckError):  # another function is still checked
        wrong.select(torch.zeros(1))
    shape_checks.reset()
    with pytest.raises(jaxtyping.TypeCheckError):
        tokens(2, 4)


def test_the_limit_stops_no_error_of_the_same_call():
    for _ in range(shape_checks.CHECKS // 2 - 1):
        tokens(2, 3)
    with pytest.raises(jaxtyping.TypeCheckError):
        tokens(2, 4)
