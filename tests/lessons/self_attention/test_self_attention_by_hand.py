"""Self-attention by hand: the ladder's worked examples, and the project's own attention."""

import pytest
import torch

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.lessons.self_attention.self_attention_by_hand import EXAMPLES, self_attention_by_hand

MONEY_BANK = {
    "embeddings": [[2, 7], [9, 3]],
    "w_query": [[2, 1], [1, 2]],
    "w_key": [[3, 4], [5, 1]],
    "w_value": [[4, 1], [2, 1]],
}
TENTHS = {**MONEY_BANK, "embeddings": [[0.2, 0.7], [0.9, 0.3]]}
SWAPS = {**TENTHS, "w_key": [[3, 5], [4, 1]]}


def money_bank(**changes):
    return self_attention_by_hand("money bank", **{**MONEY_BANK, **changes})


def near(actual, expected, tolerance=5e-4):
    return torch.allclose(
        actual, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=tolerance
    )


def test_the_cat_sat_has_the_scores_weights_and_outputs_of_the_notes():
    result = self_attention_by_hand()
    scores = [[2, 0, 2], [0, 2, 2], [2, 2, 4]]
    assert result.scores.tolist() == scores
    assert result.scaled.tolist() == [[score / 2 for score in row] for row in scores]
    assert near(
        result.weights, [[0.422, 0.155, 0.422], [0.155, 0.422, 0.422], [0.212, 0.212, 0.576]]
    )
    the, cat, sat = [0.845, 0.578] * 2, [0.578, 0.845] * 2, [0.788] * 4
    assert near(result.outputs, [the, cat, sat])


def test_money_bank_has_the_queries_keys_values_and_scores_of_the_notes():
    result = money_bank()
    assert result.queries.tolist() == [[11, 16], [21, 15]]
    assert result.keys.tolist() == [[41, 15], [42, 39]]
    assert result.values.tolist() == [[22, 9], [42, 12]]
    assert result.scores.tolist() == [[691, 1086], [1086, 1467]]


def test_large_inputs_saturate_even_after_the_root():
    result = money_bank()
    assert torch.equal(result.scaled, result.scores / 2**0.5)
    assert near(result.weights, [[0, 1], [0, 1]], tolerance=1e-100)
    assert near(result.outputs, [[42, 12], [42, 12]], tolerance=1e-12)


def test_a_tenth_of_the_inputs_does_not_saturate():
    result, raw = money_bank(**TENTHS), money_bank(**TENTHS, scale=False)
    assert near(result.scores, [[6.91, 10.86], [10.86, 14.67]], tolerance=1e-9)
    assert near(raw.weights, [[0.019, 0.981], [0.022, 0.978]])
    assert near(result.weights, [[0.058, 0.942], [0.063, 0.937]])


def test_the_case_that_catches_swaps_has_its_numbers():
    result = money_bank(**SWAPS)
    assert near(result.keys, [[3.4, 1.7], [3.9, 4.8]], tolerance=1e-9)
    assert near(result.scores, [[6.46, 11.97], [9.69, 15.39]], tolerance=1e-9)
    assert near(result.weights, [[0.0199, 0.9801], [0.0175, 0.9825]], tolerance=5e-5)
    assert near(result.outputs, [[4.1602, 1.1940], [4.1651, 1.1948]], tolerance=5e-5)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("money_bank", MONEY_BANK), ("money_bank_tenth", TENTHS), ("money_bank_asymmetric", SWAPS)],
)
def test_an_example_is_selected_by_name(name, arguments):
    named, result = self_attention_by_hand(example=name), money_bank(**arguments)
    assert named.words == ("money", "bank")
    for part in ("embeddings", "queries", "keys", "values", "scores", "weights", "outputs"):
        assert torch.equal(getattr(named, part), getattr(result, part))


def test_the_first_example_is_the_default():
    assert torch.equal(
        self_attention_by_hand(example="cat_sat").outputs, self_attention_by_hand().outputs
    )


def test_arguments_override_the_example():
    result = self_attention_by_hand(
        "a b", example="money_bank", embeddings=[[1, 0], [0, 1]], w_value=[[1, 0], [0, 1]]
    )
    assert result.words == ("a", "b")
    assert result.queries.tolist() == [[2, 1], [1, 2]]
    assert result.values.tolist() == [[1, 0], [0, 1]]


def test_an_example_that_there_is_not_is_an_error():
    with pytest.raises(
        UserError, match="example: 'dog_sat' is none; there are cat_sat, money_bank,"
    ):
        self_attention_by_hand(example="dog_sat")


def test_saturation_is_reported_only_where_it_remains_after_scaling():
    remark = "corrects for the width of queries and keys, not for large inputs"
    texts = {
        name: " ".join(self_attention_by_hand(example=name).text().split()) for name in EXAMPLES
    }
    assert [name for name, text in texts.items() if remark in text] == ["money_bank"]
    assert "Even after division by √2 a weight is 1.000" in texts["money_bank"]
    assert "√2 से भाग देने के बाद भी" in self_attention_by_hand(example="money_bank").text("hi")
    assert remark not in " ".join(money_bank(scale=False).text().split())
    assert not self_attention_by_hand("alone", embeddings=[[9, 9, 9, 9]]).saturated


def test_transposed_scores_would_give_other_weights():
    swapped = money_bank(**SWAPS).scaled.T.softmax(-1)
    assert near(swapped, [[0.0925, 0.9075], [0.0818, 0.9182]], tolerance=5e-5)


def test_symmetric_scores_catch_no_swap():
    for result in (self_attention_by_hand(), money_bank()):
        assert torch.allclose(result.scores, result.scores.T)


@pytest.mark.parametrize(("scale", "score"), [(True, "scaled_dot"), (False, "dot")])
@pytest.mark.parametrize("arguments", [TENTHS, SWAPS])
def test_by_hand_is_what_attend_computes(arguments, scale, score):
    result = money_bank(**arguments, scale=scale)
    context, weights = attend(result.queries, result.keys, result.values, score=score)
    assert torch.allclose(result.weights, weights)
    assert torch.allclose(result.outputs, context)


def test_values_may_be_wider_than_keys():
    result = money_bank(w_value=[[1, 0, 2], [0, 1, 3]])
    assert result.outputs.shape == (2, 3)


def test_queries_and_keys_of_different_width_are_errors():
    with pytest.raises(UserError, match="w_query and w_key must be equally wide"):
        money_bank(w_key=[[1, 0, 1], [0, 1, 1]])


def test_a_row_too_few_is_an_error():
    with pytest.raises(UserError, match="embeddings: has 3 rows, but the words of 'a b' are 2"):
        self_attention_by_hand("a b", embeddings=[[1], [2], [3]])


def test_three_other_words_do_not_take_the_vectors_of_the_cat_that_sat():
    assert not torch.equal(
        self_attention_by_hand("how are you").embeddings, self_attention_by_hand().embeddings
    )
    assert self_attention_by_hand("how are", example="money_bank").embeddings.shape == (2, 2)
