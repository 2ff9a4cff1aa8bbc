"""Budgets are read as people write them."""

import pytest

from dhyan.compare.budget import Budget, parse_budget, parse_count
from dhyan.errors import UserError


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("3000", Budget(steps=3000)),
        ("3_000", Budget(steps=3000)),
        ("3,000", Budget(steps=3000)),
        ("90s", Budget(seconds=90.0)),
        ("10m", Budget(seconds=600.0)),
        ("1.5h", Budget(seconds=5400.0)),
    ],
)
def test_a_budget_is_steps_or_a_time_with_a_unit(text, budget):
    assert parse_budget(text) == budget


@pytest.mark.parametrize("text", ["", "0", "10x", "1.5", "-3", "m", "0s", "1,5s", "1,5"])
def test_an_invalid_budget_is_an_error(text):
    with pytest.raises(UserError, match="--budget"):
        parse_budget(text)


def test_a_parameter_count_may_have_a_suffix():
    assert [parse_count(text) for text in ("2M", "300k", "1_500", "0.5M", "")] == [
        2_000_000,
        300_000,
        1500,
        500_000,
        0,
    ]
    with pytest.raises(UserError, match="--parameters many"):
        parse_count("many")
    with pytest.raises(UserError, match="--parameters 1,5M"):
        parse_count("1,5M")
