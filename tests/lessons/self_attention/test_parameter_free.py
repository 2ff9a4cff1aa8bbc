"""Attention without parameters: by hand, by the project, in one go and one by one."""

import pytest
import torch

from dhyan.attention import attend, parameter_free_attention
from dhyan.errors import UserError
from dhyan.lessons.self_attention.parameter_free import all_at_once, parameter_free, word_by_word


def quick(**arguments):
    return parameter_free(**{"lengths": (3,), **arguments})


def test_without_softmax_bank_is_the_sum_of_the_others_by_their_dot_products():
    result = quick()
    bank = result.vectors[1]
    expected = sum((bank @ other) * other for other in result.vectors)
    assert torch.allclose(result.without_softmax[1], expected)


def test_only_with_softmax_each_row_sums_to_1():
    result = quick()
    assert (result.scores.sum(1) - 1).abs().min() > 0.1
    assert torch.allclose(result.weights.sum(1), torch.ones(3, dtype=torch.float64))


def test_it_is_the_parameter_free_attention_of_the_project():
    result = quick()
    states = result.vectors.unsqueeze(0)
    attention = parameter_free_attention()
    memory = attention.remember(states, torch.ones(1, 3, dtype=torch.bool))
    assert torch.allclose(result.outputs, attention(states, memory).context[0])
    x = result.vectors
    assert torch.allclose(result.outputs, attend(x, x, x, score="dot").context)


def test_there_is_no_parameter():
    assert quick().parameters == 0


def test_it_is_the_mixing_that_has_nothing_to_learn():
    text = " ".join(quick().text().split())
    assert "only the vectors X can be learned" in text


def test_the_shapes_are_those_of_the_notes():
    assert quick().shapes == "(3×2)(2×3)(3×2)"


@pytest.mark.parametrize("count", [1, 3, 30])
def test_word_by_word_equals_all_at_once(count):
    x = torch.randn(count, 5, dtype=torch.float64)
    assert torch.allclose(all_at_once(x), word_by_word(x))


def test_every_length_is_timed_in_parallel_and_sequentially():
    result = parameter_free(lengths=(3, 30, 300))
    assert result.lengths == (3, 30, 300)
    assert min(*result.parallel, *result.sequential) > 0
    assert max(result.differences) < 1e-12


def test_the_sentence_about_the_pace_follows_the_clock():
    from dataclasses import replace

    result = quick()
    fast, slow = (replace(result, parallel=(seconds,), sequential=(2.0,)) for seconds in (1.0, 4.0))
    assert "2.0 times as fast" in " ".join(fast.text().split())
    assert "no faster" in " ".join(slow.text().split())


def test_a_word_without_a_vector_and_a_length_of_nothing_are_errors():
    with pytest.raises(UserError, match="vectors: 'tree' has none"):
        quick(sentence="money tree", vectors={"money": [1, 2]})
    with pytest.raises(UserError, match="lengths: give at least one whole number"):
        parameter_free(lengths=())
    with pytest.raises(UserError, match="lengths is 0: give a whole number of at least 1"):
        parameter_free(lengths=(3, 0))
