"""Luong's three steps across and within: one function, and the project's own attention."""

import pytest
import torch

from dhyan.attention import DotScore, SingleHeadAttention, attend
from dhyan.errors import UserError
from dhyan.lessons.self_attention.why_self_attention import three_steps, why_self_attention


def both(found):
    return (
        (found.across, found.target_states, found.states),
        (found.within, found.states, found.states),
    )


def test_across_and_within_are_one_function():
    for steps, queries, states in both(why_self_attention()):
        again = three_steps(steps.asking, steps.answering, queries, states)
        for name in ("scores", "weights", "contexts"):
            assert torch.equal(getattr(steps, name), getattr(again, name))


def test_the_three_steps_are_attend_with_a_dot_score():
    for steps, queries, states in both(why_self_attention()):
        context, weights = attend(queries, states, states, score="dot")
        assert torch.allclose(steps.weights, weights)
        assert torch.allclose(steps.contexts, context)


def test_the_three_steps_are_the_attention_of_luongs_decoder():
    attention = SingleHeadAttention(DotScore())
    for steps, queries, states in both(why_self_attention()):
        real = torch.ones(1, len(states), dtype=torch.bool)
        memory = attention.remember(states.unsqueeze(0), real)
        found = attention(queries.unsqueeze(0), memory)
        assert torch.allclose(steps.contexts, found.context[0])


def test_across_there_is_a_row_for_each_target_word_and_within_for_each_source_word():
    found = why_self_attention()
    assert found.across.weights.shape == (3, 4)
    assert found.within.weights.shape == (4, 4)


def test_scores_within_are_symmetric_and_weights_are_not():
    within = why_self_attention().within
    assert torch.allclose(within.scores, within.scores.T)
    assert not torch.allclose(within.weights, within.weights.T)


def test_the_example_looks_where_the_translation_comes_from():
    found = why_self_attention()
    looked = [found.across.answering[at] for at in found.across.weights.argmax(1).tolist()]
    assert looked == ["lights", "off", "turn"]
    assert "लाइट → lights, बंद → off, करो → turn" in " ".join(found.text("hi").split())


def test_sentences_of_ones_own_need_no_states():
    found = why_self_attention("come in", "अंदर आ जाओ", width=5)
    assert found.across.weights.shape == (3, 2)
    assert found.states.shape == (2, 5)
    again = why_self_attention("come in", "अंदर आ जाओ", width=5)
    assert torch.equal(again.across.weights, found.across.weights)


def test_states_of_different_width_are_errors():
    with pytest.raises(UserError, match="target_states: have 2 numbers and states 3"):
        why_self_attention(target_states=[[1, 0], [0, 1], [1, 1]])


def test_a_state_too_few_is_an_error():
    with pytest.raises(UserError, match="states: has 1 rows"):
        why_self_attention(states=[[1, 0, 0]])
