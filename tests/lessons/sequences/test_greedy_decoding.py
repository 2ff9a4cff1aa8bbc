"""Greedy decoding, step by step."""

from dataclasses import replace
from math import log

import pytest
import torch

from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.lessons.sequences.greedy_decoding import greedy_decoding
from dhyan.models.build import build_model
from dhyan.text.tokenizer import Tokenizer
from tests.tiny_models import tiny_recipe, write_corpus


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    source, target = write_corpus(tmp_path_factory.mktemp("greedy"), pairs=40)
    recipe = tiny_recipe("rnn", source, target)
    words = [
        Tokenizer.train(path.read_text(encoding="utf-8").splitlines(), kind="words", size=200)
        for path in (source, target)
    ]
    torch.manual_seed(2)
    return Translator(build_model(recipe, *map(len, words)), *words)


def test_the_steps_multiply_to_the_sentence():
    result = greedy_decoding(steps=12)
    total = sum(log(step.probs[0]) for step in result.steps)
    assert total == pytest.approx(result.greedy.score, abs=1e-5)


def test_each_output_word_is_the_likeliest_and_is_fed_back():
    result = greedy_decoding(steps=12)
    assert result.steps[0].input_token == "<start>"
    for before, after in zip(result.steps, result.steps[1:], strict=False):
        assert after.input_token == before.words[0]
        assert list(before.probs) == sorted(before.probs, reverse=True)


def test_a_beam_of_one_is_greedy():
    result = greedy_decoding("come in", steps=5, beam=1)
    assert result.beam[0].text == result.greedy.text
    assert result.beam[0].score == pytest.approx(result.greedy.score, abs=1e-5)
    assert "its best hypothesis is the greedy one" in flat_text(result)


def test_the_greedy_output_is_the_translators(translator):
    sentence = "two hundred five"
    result = greedy_decoding(sentence, model=translator, beam=2)
    [translation] = translator(sentence, beam=1)
    assert result.greedy.text == translation.text
    assert result.greedy.finished == translation.finished
    assert len(result.steps) == len(translation.ids) + translation.finished


def test_the_verdict_follows_the_numbers():
    result = greedy_decoding(steps=2)
    better = replace(result.greedy, score=result.greedy.score + log(3))
    worse = replace(result.greedy, score=result.greedy.score - log(3))
    assert "3.00 times more probable" in flat_text(replace(result, beam=(better,)))
    assert "3.00 times less probable" in flat_text(replace(result, beam=(worse,)))
    assert "3.00 गुना अधिक" in flat_text(replace(result, beam=(better,)), "hi")


@pytest.mark.slow
def test_the_trained_toy_model_translates():
    result = greedy_decoding()
    assert (result.greedy.text, result.greedy.finished) == ("सोच लो", True)
    assert result.beam[0].text == "सोच लो"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sentence": ""}, "the sentence is empty"),
        ({"sentence": "come out", "steps": 1}, "the corpus has no word 'out'"),
        ({"beam": 0}, "beam is 0: give a whole number of at least 1"),
        ({"model": "no/such/run"}, "no/such/run"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        greedy_decoding(**arguments)
