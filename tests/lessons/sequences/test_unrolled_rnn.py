"""The encoder-decoder token by token."""

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.sequences.unrolled_rnn import unrolled_rnn


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_token_by_token_is_all_at_once(cell):
    result = unrolled_rnn(cell=cell, steps=0)
    assert result.encoder_difference < 1e-12
    assert result.decoder_difference < 1e-12


@pytest.mark.parametrize(("cell", "parts"), [("lstm", 2), ("gru", 1), ("rnn", 1)])
def test_the_last_state_is_the_context_vector(cell, parts):
    result = unrolled_rnn("come in", target="अंदर आ जाओ", cell=cell, steps=0)
    torch.testing.assert_close(result.context, result.encoder_states[-1])
    assert result.encoder_states.shape == (2, parts, 4)


def test_a_longer_sentence_begins_in_the_same_states():
    long, short = (unrolled_rnn(sentence, steps=0) for sentence in ("a b a b", "a b"))
    torch.testing.assert_close(long.encoder_states[:2], short.encoder_states)


def test_each_output_word_is_fed_back():
    result = unrolled_rnn(steps=0, limit=5)
    assert result.inputs[0] == "<start>"
    assert result.inputs[1:] == result.outputs[:-1]
    assert len(result.outputs) <= 5


def test_an_lstm_has_h_as_its_gated_cell():
    result = unrolled_rnn(steps=0)
    assert (result.encoder_states[:, 0].abs() <= result.encoder_states[:, 1].tanh().abs()).all()


@pytest.mark.slow
def test_a_trained_model_translates_and_ends():
    result = unrolled_rnn()
    assert result.outputs == ("सोच", "लो", "<end>")
    assert "Output: सोच लो <end>." in result.text("en")


def test_the_text_is_in_both_languages():
    result = unrolled_rnn(steps=0, limit=2)
    assert "context vector" in result.text("en")
    assert "संदर्भ सदिश" in result.text("hi")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sentence": " "}, "the sentence is empty"),
        ({"cell": "qrnn"}, "cell is 'qrnn': give one of lstm, gru, rnn"),
        ({"width": 0}, "width is 0: give a whole number of at least 1"),
        ({"steps": -1}, "steps is -1: give a whole number of at least 0"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        unrolled_rnn(**arguments)
