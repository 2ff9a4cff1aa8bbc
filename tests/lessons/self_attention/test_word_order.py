"""Blind to order: outputs change places with their words, until positions are added."""

from itertools import permutations

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.self_attention.word_order import word_order


@pytest.mark.parametrize("turned", list(permutations("dog bites man".split())))
def test_permuting_the_words_permutes_the_outputs(turned):
    found = word_order(other=turned)
    assert torch.allclose(found.other_outputs, found.outputs[list(found.places)])
    assert found.differences[:, 0].max() < 1e-12


def test_positions_make_the_order_count():
    found = word_order()
    assert found.differences[:, 1].min() > 0.1
    assert torch.allclose(found.positions[0], torch.tensor([0.0, 1] * 3, dtype=torch.float64))


def test_the_same_order_makes_no_difference_with_positions_either():
    found = word_order(other="dog bites man")
    assert found.differences.max() < 1e-12
    text = " ".join(found.text().split())
    assert "Both orders are the same, so nothing is shown here" in text
    assert "bag of words" not in text


@pytest.mark.parametrize("sentence", ["dog", "dog dog"])
def test_a_single_word_shows_nothing_of_order(sentence):
    text = " ".join(word_order(sentence).text().split())
    assert "One word has no other order, so nothing is shown here" in text
    assert "bag of words" not in text
    assert "थैला" not in word_order(sentence).text("hi")


def test_a_word_that_comes_twice_has_one_vector_and_two_places():
    found = word_order("the dog sees the cat", "the cat sees the dog")
    assert torch.equal(found.vectors[0], found.vectors[3])
    assert found.places == (0, 4, 2, 3, 1)
    assert found.differences[:, 0].max() < 1e-12


def test_the_law_holds_for_vectors_of_ones_own_and_any_width():
    found = word_order("a b c", "b c a", vectors={"a": [1, 0, 2], "b": [0, 1, 1], "c": [1, 1, 0]})
    assert found.outputs.shape == (3, 3)
    assert found.differences[:, 0].max() < 1e-12


def test_nothing_else_that_is_random_is_touched():
    before = torch.random.get_rng_state()
    word_order()
    assert torch.equal(before, torch.random.get_rng_state())


def test_another_seed_draws_other_vectors():
    assert not torch.equal(word_order(seed=1).vectors, word_order(seed=2).vectors)


def test_other_words_are_no_other_order():
    with pytest.raises(UserError, match="'man bites cat' is not 'dog bites man' in another order"):
        word_order(other="man bites cat")


@pytest.mark.parametrize(("lang", "told"), [("en", "bag of words"), ("hi", "शब्दों का थैला")])
def test_the_story_says_what_came_out(lang, told):
    assert told in " ".join(word_order().text(lang).split())
