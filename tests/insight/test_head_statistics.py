"""What the measures of a head say of tables whose answer is known."""

import pytest
import torch

from dhyan.errors import UserError
from dhyan.insight.head_statistics import distance, entropy, previous_share, target_share

HERE, BEFORE = torch.eye(4), torch.eye(4).roll(-1, dims=1)  # the first row of BEFORE sees the last
EVEN = torch.full((4, 4), 0.25)
ALL = torch.stack([HERE, BEFORE, EVEN])


def test_entropy_is_zero_for_one_position_and_log_s_for_uniform_weights():
    assert entropy(ALL).tolist() == pytest.approx([0, 0, 2])


def test_entropy_normalises_rows_and_is_zero_for_rows_of_zeros():
    faded = torch.tensor([[0.25, 0.25], [0.0, 0.0]])
    assert float(entropy(faded)) == pytest.approx(0.5)


def test_distance_is_the_weighted_mean_distance():
    assert distance(ALL).tolist() == pytest.approx([0, (3 + 1 + 1 + 1) / 4, 1.25])


def test_previous_share_leaves_out_the_first_word():
    assert previous_share(ALL).tolist() == pytest.approx([0, 1, 0.25])


def test_target_share_leaves_out_rows_without_a_target():
    assert target_share(ALL, [0, 1, -1, 2]).tolist() == pytest.approx([2 / 3, 1 / 3, 0.25])


def test_every_measure_has_a_number_for_each_head_of_each_layer():
    stacked = ALL.expand(2, 3, 4, 4)
    for measure in (entropy, distance, previous_share, lambda w: target_share(w, [1, 1, 1, 1])):
        assert measure(stacked).shape == (2, 3)
        assert torch.equal(measure(stacked)[1], measure(ALL))


def test_measures_of_a_permuted_batch_of_heads_are_permuted():
    weights = torch.rand(5, 6, 6).softmax(-1)
    order = torch.randperm(5)
    for measure in (entropy, distance, previous_share):
        assert torch.equal(measure(weights[order]), measure(weights)[order])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: previous_share(torch.ones(1, 1)), "at least two"),
        (lambda: target_share(EVEN, [0, 1]), "2 targets for 4 rows of weights"),
        (lambda: target_share(EVEN, [-1] * 4), "no row has a target"),
        (lambda: target_share(EVEN, [0, 1, 2, 4]), "target 4 is beyond the last column, 3"),
    ],
)
def test_invalid_arguments_are_errors(call, message):
    with pytest.raises(UserError, match=message):
        call()
