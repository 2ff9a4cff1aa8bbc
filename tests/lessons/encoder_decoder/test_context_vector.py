"""A context for every word: the weighted sums of F2, and what the decoder makes of them."""

import pytest
import torch

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.lessons.encoder_decoder.context_vector import STATES, WEIGHTS, context_vector

NUMBERS = torch.tensor(STATES, dtype=torch.float64)


def test_a_context_is_the_weighted_sum_of_the_states():
    result = context_vector()
    by_hand = [sum(a * h[k] for a, h in zip(WEIGHTS[0], STATES, strict=True)) for k in range(4)]
    assert result.contexts[0].tolist() == pytest.approx(by_hand)
    assert result.contexts[0].tolist() == pytest.approx([0.31, 0.24, 0.775, 0.685])
    assert result.contexts.shape == (4, 4) == result.states.shape
    assert (result.words, result.target[:3]) == (
        ("turn", "off", "the", "lights"),
        ("लाइट", "बंद", "करो"),
    )


def test_four_steps_over_four_words_take_sixteen_weights():
    result = context_vector()
    assert result.weights.numel() == 16
    assert "4 × 4 = 16" in result.text("en")
    assert "4 × 4 = 16" in result.text("hi")


def test_it_is_what_attend_gives_for_scores_with_these_weights():
    result = context_vector()
    logs = result.weights.log()
    attended = attend(result.weights, NUMBERS, NUMBERS, score=lambda query, keys: logs)
    torch.testing.assert_close(attended.context, result.contexts)


def test_all_the_weight_on_one_word_gives_its_state():
    result = context_vector(weights=[[0, 0, 0, 1]] * 4)
    assert torch.equal(result.contexts, NUMBERS[-1:].expand(4, -1))


def test_the_decoder_without_contexts_knows_only_the_word_and_its_own_state():
    result, word_width = context_vector(), 4
    assert result.without.shape == (4, word_width + 4)
    assert result.inputs.shape == (4, word_width + 4 + 4)
    assert torch.equal(result.inputs[:, -4:], result.contexts)
    assert torch.equal(result.without[0], result.inputs[0, :8])
    assert torch.equal(result.without[0, word_width:], result.states[-1])
    assert torch.equal(result.inputs[1:, word_width:8], result.after[:-1])
    assert torch.equal(result.without[1:, word_width:], result.before[:-1])


def test_a_changed_weight_is_felt_from_its_step_on_and_only_with_contexts():
    before = context_vector()
    after = context_vector(weights=[*WEIGHTS[:2], (0.0, 0.0, 0.0, 1.0), WEIGHTS[3]])
    assert torch.equal(after.before, before.before)
    assert torch.equal(after.after[:2], before.after[:2])
    assert (after.after[2:] != before.after[2:]).any(dim=1).all()


def test_self_attention_weights_are_the_softmax_of_dot_products():
    result = context_vector()
    torch.testing.assert_close(result.self_weights, (NUMBERS @ NUMBERS.T).softmax(-1))
    torch.testing.assert_close(result.self_contexts, result.self_weights @ NUMBERS)


def test_other_words_and_widths_work():
    result = context_vector(
        "come in", target="अंदर आ जाओ", states=[[1], [3]], weights=[[0.5, 0.5]] * 3
    )
    assert result.contexts.flatten().tolist() == [2, 2, 2]
    assert "3 × 2 = 6" in result.text()
    twice = context_vector("a b", target="x x", states=[[1], [3]], weights=[[1, 0]] * 2)
    assert twice.previous.tolist() == [[1, 0], [0, 1]]
    again = context_vector("a b", target="x x y", states=[[1], [3]], weights=[[1, 0]] * 3)
    assert again.previous.tolist() == [[1, 0], [0, 1], [0, 1]]


def test_a_row_of_rounded_weights_is_a_row():
    assert context_vector("a b c", target="x", states=[[1]] * 3, weights=[[0.333] * 3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [[0.5, 0.5, 0.5, 0]] * 4}, "the row of 'लाइट' sums to 1.5; each row must sum"),
        ({"weights": [[1.5, -0.5, 0, 0]] * 4}, "the row of 'लाइट' has a weight below 0"),
        ({"weights": [[1, 0, 0, 0]]}, "weights: has 1 rows, but the words of 'लाइट बंद करो <end>'"),
        ({"weights": [[1, 0, 0]] * 4}, "weights: has 3 columns, but the words of 'turn off the"),
        ({"states": [[1]]}, "states: has 1 rows, but the words of 'turn off the lights' are 4"),
        ({"target": " "}, "the sentence is empty"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(arguments, message):
    with pytest.raises(UserError, match="^.*" + message.replace("(", r"\(")):
        context_vector(**arguments)


def test_the_page_is_rendered_in_both_languages():
    assert "स्व-अवधान" in context_vector().text("hi")
    assert context_vector().figure(lang="hi", dark=True).axes
