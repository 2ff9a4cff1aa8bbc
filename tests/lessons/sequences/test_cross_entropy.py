"""The loss of a sentence, word by word."""

import pytest
import torch

from dhyan.batch import Tokens
from dhyan.errors import UserError
from dhyan.lessons.sequences.cross_entropy import cross_entropy
from dhyan.training.loss import cross_entropy as training_loss


def test_the_notes_figures_come_out_in_both_logarithms():
    result = cross_entropy([0.4, 0.1, 0.1])
    assert result.total == pytest.approx(5.521, abs=5e-4)
    assert result.average == pytest.approx(1.840, abs=5e-4)
    assert result.total_tens == pytest.approx(2.398, abs=5e-4)
    assert result.average_tens == pytest.approx(0.799, abs=5e-4)
    assert result.words == ("सोच", "लो", "<end>")


def test_it_is_the_loss_that_training_makes_small():
    probs = torch.tensor([[0.2, 0.1, 0.4, 0.3], [0.6, 0.2, 0.1, 0.1], [0.3, 0.3, 0.3, 0.1]])
    labels = Tokens.pad([[2, 3, 1]])
    right = probs[range(3), labels.ids[0]].double()
    trained = training_loss(probs.log().unsqueeze(0), labels, smoothing=0.0)
    assert cross_entropy(right.tolist()).total == pytest.approx(float(trained), abs=1e-6)


def test_a_sure_right_word_costs_nothing_and_halving_costs_ln_2():
    assert cross_entropy([1.0]).total == 0
    assert cross_entropy([0.25]).total - cross_entropy([0.5]).total == pytest.approx(
        0.6931, abs=1e-4
    )


def test_equal_chances_of_n_words_have_perplexity_n():
    assert cross_entropy([1 / 7] * 3).perplexity == pytest.approx(7)


def test_the_order_of_the_words_does_not_matter_to_the_total():
    assert cross_entropy([0.4, 0.1, 0.3]).total == pytest.approx(
        cross_entropy([0.3, 0.4, 0.1]).total
    )


def test_the_text_is_in_both_languages():
    for lang in ("en", "hi"):
        text = cross_entropy([0.4, 0.1, 0.1]).text(lang)
        assert "5.521" in text
        assert "0.799" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"probabilities": [0.4, 0.0]}, "0 is out of range; give numbers above 0 and at most 1"),
        ({"probabilities": [1.2]}, "1.2 is out of range"),
        ({"probabilities": []}, "not a list of numbers"),
        ({"probabilities": [0.5], "sentence": "come in"}, "1 of them for the 2 words"),
    ],
)
def test_a_number_that_is_no_probability_is_an_error(arguments, message):
    with pytest.raises(UserError, match=message):
        cross_entropy(**arguments)
