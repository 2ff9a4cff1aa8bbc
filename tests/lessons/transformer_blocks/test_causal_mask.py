"""The mask by itself: the notes' "how are you", and what holds for any scores."""

import pytest
import torch

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.causal_mask import causal_mask

SCORES = torch.tensor([[1.0, 2, 3, 4], [4, 3, 2, 1], [0, 0, 0, 0], [5, -5, 5, -5]])


def rows(matrix):
    return [[round(value, 3) for value in row] for row in matrix.tolist()]


def test_how_are_you_is_masked_and_renormalised():
    result = causal_mask()
    assert rows(result.weights) == [[0.2, 0.1, 0.7], [0.3, 0.2, 0.5], [0.6, 0.3, 0.1]]
    assert rows(result.masked) == [[1, 0, 0], [0.6, 0.4, 0], [0.6, 0.3, 0.1]]
    assert result.masked_sums.tolist() == pytest.approx([1, 1, 1])


def test_zeroed_after_the_softmax_rows_do_not_sum_to_1():
    assert causal_mask().zeroed_sums.tolist() == pytest.approx([0.2, 0.5, 1])


def test_above_the_diagonal_every_score_is_minus_infinity_and_below_none_is():
    hidden = causal_mask("a b c d", scores=SCORES).hidden
    above = torch.ones(4, 4, dtype=torch.bool).triu(1)
    assert hidden[above].isneginf().all()
    assert torch.equal(hidden[~above], SCORES.double()[~above])


def test_the_lesson_is_what_the_projects_causal_attention_computes():
    result = causal_mask("a b c d", scores=SCORES)
    attended = attend(
        SCORES.double(),
        torch.eye(4, dtype=torch.float64),
        torch.eye(4, dtype=torch.float64),
        score="dot",
        causal=True,
    )
    assert torch.allclose(result.masked, attended.weights)


def test_renormalising_the_zeroed_rows_gives_the_masked_weights():
    result = causal_mask("a b c d", scores=SCORES)
    assert torch.allclose(result.zeroed / result.zeroed_sums[:, None], result.masked)


def test_scores_of_the_future_change_no_masked_weight():
    other = SCORES + torch.full((4, 4), 7.0).triu(1)
    assert torch.equal(
        causal_mask("a b c d", scores=SCORES).masked, causal_mask("a b c d", scores=other).masked
    )


def test_a_weight_of_zero_in_the_past_stays_zero():
    result = causal_mask("a b", weights=[[1, 0], [0, 1]])
    assert rows(result.masked) == [[1, 0], [0, 1]]
    assert "still sum to 1" in result.text()


def test_both_languages_show_minus_infinity_above_the_diagonal():
    for lang in ("en", "hi"):
        assert "−1.61     −∞     −∞   how" in causal_mask().text(lang)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: causal_mask("how are", weights=[[1]] * 3),
            "weights: has 3 rows, but the words of 'how are' are 2",
        ),
        (
            lambda: causal_mask("a b", scores=[[1, 2, 3], [1, 2, 3]]),
            "scores: has 3 columns; give 2",
        ),
        (lambda: causal_mask("a b", weights=[[0.5, 0.4], [1, 0]]), "row 1 is no row of weights"),
        (lambda: causal_mask("a b", weights=[[0, 1], [1, 0]]), "row 1 gives all to later words"),
        (lambda: causal_mask("a", weights=[[1]], scores=[[1]]), "give one of them"),
        (lambda: causal_mask(""), "the sentence is empty"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(call, message):
    with pytest.raises(UserError, match=message):
        call()
