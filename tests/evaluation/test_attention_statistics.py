"""Entropy and coverage are functions of the weights alone, and obey what their names promise."""

from math import log2

import pytest
import torch

from dhyan.attention_maps import row_entropy
from dhyan.errors import UserError
from dhyan.evaluation.attention_statistics import (
    attention_statistics,
    coverage,
    relative_entropy,
)

SIZES = [1, 2, 7]


def some_weights(rows=5, columns=7):
    return torch.randn(rows, columns).softmax(dim=-1)


@pytest.mark.parametrize("positions", SIZES)
def test_uniform_weights_have_maximal_entropy(positions):
    weights = torch.full((3, positions), 1 / positions)
    torch.testing.assert_close(row_entropy(weights), torch.full((3,), log2(positions)))
    assert (row_entropy(some_weights(columns=positions)) <= log2(positions) + 1e-5).all()


@pytest.mark.parametrize("positions", SIZES)
def test_all_weight_on_one_position_has_entropy_zero(positions):
    weights = torch.eye(positions)
    assert (row_entropy(weights) == 0).all()
    assert (relative_entropy(weights) == 0).all()


def test_two_equal_weights_have_one_bit():
    assert row_entropy(torch.tensor([[0.5, 0.0, 0.5, 0.0]])).item() == pytest.approx(1)


def test_relative_entropy_is_between_zero_and_one():
    even = torch.full((2, 5), 0.2)
    torch.testing.assert_close(relative_entropy(even), torch.ones(2))
    entropy = relative_entropy(some_weights())
    assert ((entropy > 0) & (entropy < 1)).all()


def test_the_order_of_the_words_does_not_matter():
    weights = some_weights()
    rows, columns = torch.randperm(5), torch.randperm(7)
    torch.testing.assert_close(row_entropy(weights[:, columns]), row_entropy(weights))
    torch.testing.assert_close(row_entropy(weights[rows]), row_entropy(weights)[rows])
    torch.testing.assert_close(coverage(weights[rows]), coverage(weights))
    torch.testing.assert_close(coverage(weights[:, columns]), coverage(weights)[columns])


def test_a_row_that_does_not_sum_to_one_has_the_entropy_of_its_shares():
    weights = some_weights()
    torch.testing.assert_close(row_entropy(weights / 3), row_entropy(weights))
    assert (row_entropy(torch.zeros(2, 4)) == 0).all()


def test_coverage_is_at_most_one():
    one_word = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert coverage(one_word).tolist() == [1, 0]
    assert coverage(torch.eye(4)).tolist() == [1, 1, 1, 1]


def test_more_attention_never_lowers_coverage():
    weights = some_weights()
    assert (coverage(weights) >= coverage(weights[:-1])).all()


def test_statistics_are_means_over_all_words():
    sharp = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    even = torch.full((1, 4), 0.25)
    figures = attention_statistics([sharp, even])
    assert figures.entropy_bits == pytest.approx((0 + 0 + 2) / 3)
    assert figures.relative_entropy == pytest.approx((0 + 0 + 1) / 3)
    assert figures.coverage == pytest.approx((1 + 1 + 0.25 * 3) / 5)
    assert figures.sentences == 2


def test_no_sentences_is_an_error():
    with pytest.raises(UserError, match="no attention to measure"):
        attention_statistics([])
