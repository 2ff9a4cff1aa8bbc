"""Luong's three steps across and within: one function, and the project's own attention."""

import pytest
import torch

from dhyan.attention import DotScore, SingleHeadAttention, attend
from dhyan.errors import UserError
from dhyan.lessons.self_attention.self_vs_cross_attention import (
    self_vs_cross_attention,
    three_steps,
)


def both(result):
    return (
        (result.cross_attention, result.target_states, result.states),
        (result.self_attention, result.states, result.states),
    )


def test_cross_and_self_attention_are_the_same_function():
    for steps, queries, states in both(self_vs_cross_attention()):
        again = three_steps(steps.query_words, steps.key_words, queries, states)
        for name in ("scores", "weights", "contexts"):
            assert torch.equal(getattr(steps, name), getattr(again, name))


def test_the_three_steps_are_attend_with_a_dot_score():
    for steps, queries, states in both(self_vs_cross_attention()):
        context, weights = attend(queries, states, states, score="dot")
        assert torch.allclose(steps.weights, weights)
        assert torch.allclose(steps.contexts, context)


def test_the_three_steps_are_the_attention_of_luongs_decoder():
    attention = SingleHeadAttention(DotScore())
    for steps, queries, states in both(self_vs_cross_attention()):
        real = torch.ones(1, len(states), dtype=torch.bool)
        memory = attention.remember(states.unsqueeze(0), real)
        attended = attention(queries.unsqueeze(0), memory)
        assert torch.allclose(steps.contexts, attended.context[0])


def test_cross_attention_has_a_row_per_target_word_and_self_attention_per_source_word():
    result = self_vs_cross_attention()
    assert result.cross_attention.weights.shape == (3, 4)
    assert result.self_attention.weights.shape == (4, 4)


def test_self_attention_scores_are_symmetric_and_weights_are_not():
    attention = self_vs_cross_attention().self_attention
    assert torch.allclose(attention.scores, attention.scores.T)
    assert not torch.allclose(attention.weights, attention.weights.T)


def test_the_example_aligns_each_word_with_its_translation():
    result = self_vs_cross_attention()
    top_keys = [
        result.cross_attention.key_words[at]
        for at in result.cross_attention.weights.argmax(1).tolist()
    ]
    assert top_keys == ["lights", "off", "turn"]
    assert "लाइट → lights, बंद → off, करो → turn" in " ".join(result.text("hi").split())


def test_given_sentences_need_no_states():
    result = self_vs_cross_attention("come in", "अंदर आ जाओ", width=5)
    assert result.cross_attention.weights.shape == (3, 2)
    assert result.states.shape == (2, 5)
    again = self_vs_cross_attention("come in", "अंदर आ जाओ", width=5)
    assert torch.equal(again.cross_attention.weights, result.cross_attention.weights)


def test_states_of_different_width_are_errors():
    with pytest.raises(UserError, match="target_states: have 2 numbers and states 3"):
        self_vs_cross_attention(target_states=[[1, 0], [0, 1], [1, 1]])


def test_a_state_too_few_is_an_error():
    with pytest.raises(UserError, match="states: has 1 rows"):
        self_vs_cross_attention(states=[[1, 0, 0]])
