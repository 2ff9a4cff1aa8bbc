"""Blind to order: outputs change places with their words, until positions are added."""

from itertools import permutations

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.self_attention.word_order import word_order


@pytest.mark.parametrize("other", list(permutations("dog bites man".split())))
def test_permuting_the_words_permutes_the_outputs(other):
    result = word_order(other=other)
    assert torch.allclose(result.other_outputs, result.outputs[list(result.permutation)])
    assert result.differences[:, 0].max() < 1e-12


def test_positions_make_the_order_count():
    result = word_order()
    assert result.differences[:, 1].min() > 0.1
    assert torch.allclose(result.positions[0], torch.tensor([0.0, 1] * 3, dtype=torch.float64))


def test_the_same_order_makes_no_difference_with_positions_either():
    result = word_order(other="dog bites man")
    assert result.differences.max() < 1e-12
    text = " ".join(result.text().split())
    assert "Both orders are the same, so there is nothing to compare" in text
    assert "bag of words" not in text


@pytest.mark.parametrize("sentence", ["dog", "dog dog"])
def test_a_single_word_shows_nothing_of_order(sentence):
    text = " ".join(word_order(sentence).text().split())
    assert "One word has no other order, so there is nothing to compare" in text
    assert "bag of words" not in text
    assert "थैला" not in word_order(sentence).text("hi")


def test_a_repeated_word_has_the_same_vector_at_both_positions():
    result = word_order("the dog sees the cat", "the cat sees the dog")
    assert torch.equal(result.vectors[0], result.vectors[3])
    assert result.permutation == (0, 4, 2, 3, 1)
    assert result.differences[:, 0].max() < 1e-12


def test_equivariance_holds_for_given_vectors_of_any_width():
    result = word_order("a b c", "b c a", vectors={"a": [1, 0, 2], "b": [0, 1, 1], "c": [1, 1, 0]})
    assert result.outputs.shape == (3, 3)
    assert result.differences[:, 0].max() < 1e-12


def test_nothing_else_that_is_random_is_touched():
    before = torch.random.get_rng_state()
    word_order()
    assert torch.equal(before, torch.random.get_rng_state())


def test_another_seed_draws_other_vectors():
    assert not torch.equal(word_order(seed=1).vectors, word_order(seed=2).vectors)


def test_other_words_are_no_other_order():
    with pytest.raises(UserError, match="'man bites cat' is not 'dog bites man' in another order"):
        word_order(other="man bites cat")


@pytest.mark.parametrize(("lang", "phrase"), [("en", "bag of words"), ("hi", "शब्दों का थैला")])
def test_the_page_states_the_result(lang, phrase):
    assert phrase in " ".join(word_order().text(lang).split())
