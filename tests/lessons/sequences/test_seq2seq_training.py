"""The toy corpus, from characters to the trained prediction."""

import pytest
import torch

from dhyan.batch import Tokens
from dhyan.decoding.search import greedy_search
from dhyan.errors import UserError
from dhyan.lessons.sequences.one_hot import one_hot
from dhyan.lessons.sequences.seq2seq_training import PAIRS, seq2seq_training
from dhyan.lessons.tiny_models import make_batch, tiny_encoder_decoder
from dhyan.training.loss import cross_entropy


@pytest.fixture(scope="module")
def result():
    return seq2seq_training(steps=1)


def test_the_vocabularies_have_5_and_7_words(result):
    assert result.source.words == ("think", "about", "it", "come", "in")
    assert result.target.words == ("<start>", "<end>", "सोच", "लो", "अंदर", "आ", "जाओ")


def test_a_word_is_its_characters_and_they_are_numbers(result):
    assert result.points == (("think", (116, 104, 105, 110, 107)), ("सोच", (2360, 2379, 2330)))


def test_one_hot_rows_have_a_single_1_at_the_words_id(result):
    assert result.source_hot.sum(-1).tolist() == [1, 1, 1]
    assert result.source_hot.argmax(-1).tolist() == list(result.source_ids)
    assert result.target_hot.argmax(-1).tolist() == list(result.target_ids)
    assert list(result.source_ids) == one_hot("think about it").ids.tolist() == [0, 1, 2]
    assert result.target_hot.shape == (3, 7)


def test_every_step_shares_its_probability_among_7_words(result):
    assert result.probs.shape == (3, 7)
    torch.testing.assert_close(result.probs.sum(-1), torch.ones(3, dtype=torch.float64))
    assert result.inputs == ("<start>", "सोच", "लो")


def test_the_loss_is_the_one_that_training_makes_small(result):
    model = tiny_encoder_decoder(result.source, result.target, width=6, seed=1)
    batch = make_batch(PAIRS[:1], result.source, result.target)
    trained = float(cross_entropy(model(batch), batch.labels, smoothing=0.0).detach())
    assert result.total == pytest.approx(trained, rel=1e-6)
    assert result.average == pytest.approx(result.total / 3)
    assert result.update.before == pytest.approx(result.average)


def test_sgd_moves_a_parameter_by_its_gradient():
    update = seq2seq_training(steps=1, optimizer="sgd").update
    assert update.slope == pytest.approx(update.gradient, rel=1e-6)
    assert update.moved == pytest.approx(update.value - 0.02 * update.gradient)
    assert update.alone - update.before == pytest.approx(-0.02 * update.gradient**2, rel=0.05)
    assert update.after < update.alone < update.before


def test_adam_first_moves_every_parameter_by_the_learning_rate(result):
    update = result.update
    assert update.optimizer == "adam"
    assert update.slope == pytest.approx(update.gradient, rel=1e-6)
    step = 0.02 if update.gradient < 0 else -0.02
    assert update.moved == pytest.approx(update.value + step, abs=1e-6)
    assert update.after < update.alone < update.before


@pytest.mark.parametrize(("optimizer", "name"), [("sgd", "SGD"), ("adam", "Adam")])
def test_the_optimizer_and_its_learning_rate_are_named(optimizer, name):
    result = seq2seq_training(steps=1, optimizer=optimizer)
    for lang in ("en", "hi"):
        text = " ".join(result.text(lang).split())
        assert f"η = {result.update.rate:g}" in text
        assert text.count(name) >= 2
    assert f"1 updates by {name} on all pairs" in " ".join(result.text("en").split())


def test_the_update_that_was_looked_at_leaves_the_model_as_it_was(result):
    first = tiny_encoder_decoder(result.source, result.target, width=6, seed=1)
    batch = make_batch(PAIRS, result.source, result.target)
    mean = cross_entropy(first(batch), batch.labels, smoothing=0.0) / batch.labels.count
    assert result.curve[0] == pytest.approx(float(mean.detach()), rel=1e-6)


@pytest.mark.slow
def test_after_training_both_translations_are_correct_and_search_agrees():
    result = seq2seq_training()
    assert result.learned == (True, True)
    assert result.curve[-1] < 0.05 < result.curve[0]
    for prediction, (source, target) in zip(result.predictions, PAIRS, strict=True):
        [hypothesis] = greedy_search(
            result.model, Tokens.pad([result.source.ids(source.split())]), max_length=9
        )
        assert hypothesis.finished
        assert result.target.words_of(hypothesis.ids) == tuple(target.split())
        assert prediction.finished
    assert "2 of 2 translations are correct" in " ".join(result.text("en").split())


def test_other_pairs_and_parameters_are_used():
    result = seq2seq_training(
        [["good night", "शुभ रात्रि"]],
        steps=2,
        width=2,
        parameter="encoder.rnn.bias_hh_l0",
        at=[1],
        optimizer="sgd",
    )
    assert result.update.at == (1,)
    assert len(result.curve) == 3
    assert seq2seq_training(sentence="come in", steps=1).words == ("come", "in")


def test_the_text_is_in_both_languages(result):
    right = sum(result.learned)
    assert f"{right} of 2 translations are correct" in " ".join(result.text("en").split())
    assert f"2 में से {right} अनुवाद सही {'है' if right == 1 else 'हैं'}" in " ".join(
        result.text("hi").split()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": [["come in"]]}, "give sentences with their translations"),
        ({"pairs": [["come in", ""]]}, "the sentence is empty"),
        ({"sentence": "go out"}, "no sentence 'go out', only 'think about it', 'come in'"),
        ({"steps": 0}, "steps is 0: give a whole number of at least 1"),
        ({"width": 0}, "width is 0"),
        ({"parameter": "decoder.w"}, "the model has no 'decoder.w'; it has encoder.rnn"),
        ({"at": [9, 9]}, "has no place"),
        ({"optimizer": "lion"}, "optimizer is 'lion': give one of adam, sgd"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0: give a number above 0"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        seq2seq_training(**arguments)
