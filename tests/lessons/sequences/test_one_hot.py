"""One-hot vectors pick rows of a matrix; what a large vocabulary costs either way."""

import pytest
import torch
from torch import nn

from dhyan.errors import UserError
from dhyan.lessons.sequences.one_hot import one_hot
from dhyan.models.embedding import OneHot
from dhyan.special_tokens import NAMES


def test_one_hot_times_a_matrix_is_a_row_of_it():
    result = one_hot()
    assert result.ids.tolist() == [0, 1, 2]
    assert result.vectors.tolist() == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]
    assert result.product.tolist() == [[0.2, 0.7, -0.1], [0.5, -0.3, 0.4], [-0.6, 0.1, 0.3]]
    assert result.same


def test_the_product_equals_an_embedding_lookup():
    result = one_hot("come about come", weights=torch.randn(5, 7, dtype=torch.float64))
    layer = nn.Embedding.from_pretrained(result.weights)
    assert torch.equal(layer(result.ids), result.product)


def test_the_vectors_are_those_of_the_models():
    result = one_hot("in come")
    first = len(NAMES)  # the models' ids start with padding and its like
    theirs = OneHot(first + 5)(result.ids.unsqueeze(0) + first)
    assert torch.equal(theirs[0, :, first:].double(), result.vectors)


def test_a_hundred_thousand_words_cost_so_much():
    cost = one_hot().cost
    assert cost.numbers == (100_000, 300)
    assert cost.word_bytes == (400_000, 1_200)
    assert cost.batch_bytes == (512_000_000, 1_536_000)
    assert cost.parameters == (204_800_000, 30_614_400)
    assert cost.parameter_bytes == (819_200_000, 122_457_600)


def test_the_parameters_are_those_of_the_layers():
    cost = one_hot(words=1000, width=30, cells=8).cost
    straight, by_product = nn.LSTM(1000, 8, device="meta"), nn.LSTM(30, 8, device="meta")
    layer = nn.Embedding(1000, 30, device="meta")
    assert cost.parameters == (
        straight.weight_ih_l0.numel(),
        layer.weight.numel() + by_product.weight_ih_l0.numel(),
    )


def one_line(result):
    return " ".join(result.text().split())


def test_the_verdict_on_cost_follows_the_numbers():
    assert "6.7 times fewer weights" in one_line(one_hot())
    assert "1.5 times more weights" in one_line(one_hot(words=1000, width=1000, cells=500))


def test_new_words_join_the_vocabulary():
    result = one_hot("we think")
    assert result.vocabulary == ("think", "about", "it", "come", "in", "we")
    assert torch.equal(result.weights, one_hot("we think").weights)
    assert not torch.equal(result.weights, one_hot("we think", seed=2).weights)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sentence": ""}, "the sentence is empty"),
        ({"width": 0}, "width is 0; give a whole number from 1 on"),
        ({"weights": [[1, 0]]}, "weights: has 1 rows, but the words of the vocabulary 'think"),
        (
            {"sentence": "thinks", "weights": [[1]] * 5},
            "the word 'thinks' is not among the 5 known ones; did you mean 'think'",
        ),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(arguments, message):
    with pytest.raises(UserError, match=message):
        one_hot(**arguments)


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_story_has_the_bill(lang):
    assert "204,800,000" in one_hot().text(lang)
