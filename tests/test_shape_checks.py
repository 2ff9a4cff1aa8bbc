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


def test_shape_checks_stop_after_a_count(monkeypatch):
    monkeypatch.setattr(shape_checks, "_left", 4)
    for _ in range(4):
        tokens(2, 3)
    tokens(2, 4)
    shape_checks.reset()
    with pytest.raises(jaxtyping.TypeCheckError):
        tokens(2, 4)
