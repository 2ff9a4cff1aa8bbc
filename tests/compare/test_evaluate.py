"""Every attention of a model is read by itself, at the step that says a word or the next."""

import pytest
import torch

from dhyan.compare.evaluate import examples_to_draw
from dhyan.compare.test_sets import EvaluationExample, EvaluationSet, EvaluationSets
from dhyan.config import load_recipe
from dhyan.insight.word_alignment import attention_by_layer, pair_weights
from tests.insight.test_explain import ENGLISH, HINDI, translator_of

MODELS = [("gru", "bahdanau-additive"), ("transformer", "transformer")]


@pytest.mark.parametrize("names", MODELS, ids="+".join)
def test_the_emitting_step_has_the_weights_of_the_pair(names):
    translator = translator_of(names, "words")
    pairs = list(zip(ENGLISH, HINDI, strict=False))
    assert len({len(source.split()) for source, _ in pairs}) > 1
    for pair, by_layer in zip(
        pairs, attention_by_layer(translator, pairs, batch_size=2), strict=True
    ):
        assert len(by_layer) == (4 if names[1] == "transformer" else 2)
        for (where, at), reading in by_layer.items():
            if at == "emits":
                expected = pair_weights(translator, *pair, attention=where)
                torch.testing.assert_close(reading.weights, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("names", MODELS, ids="+".join)
def test_the_reading_step_is_the_next_emitting_step(names):
    translator = translator_of(names, "words")
    text = " ".join(word for word in HINDI[0].split() if word.isalpha() or len(word) > 1)
    assert len(translator.target.encode(text)) == len(text.split())
    [by_layer] = attention_by_layer(translator, [(ENGLISH[0], text)])
    for (where, at), reading in by_layer.items():
        if at == "reads":
            emitting = by_layer[where, "emits"].weights
            torch.testing.assert_close(reading.weights[:-1], emitting[1:])
            assert not torch.allclose(reading.weights[:-1], emitting[:-1])


def test_an_empty_sentence_has_no_attention():
    assert attention_by_layer(translator_of(MODELS[0], "words"), [("a cat", ""), ("", "a")]) == [
        {},
        {},
    ]


def test_a_recipe_says_whether_its_decoder_attends():
    attends = {"luong2015-small": True, "transformer2017-small": True}
    attends |= {"sutskever2014-small": False, "cho2014-small": False}
    for name, expected in attends.items():
        assert load_recipe(name).decoder.attends is expected, name


def test_drawn_examples_have_a_medium_length():
    examples = [EvaluationExample(" ".join("w" * length), "w") for length in range(1, 40)]
    tests = EvaluationSets(
        (EvaluationSet("test", "", tuple(examples)),), EvaluationSet("selection", "", ())
    )
    assert [len(example.source.split()) for example in examples_to_draw(tests)] == [8, 14]
