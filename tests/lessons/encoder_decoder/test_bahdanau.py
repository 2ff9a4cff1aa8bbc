"""Additive attention by hand, four ways to one number, and inside a trained model."""

import itertools

import pytest
import torch

import dhyan
from dhyan.attention import AdditiveScore
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.insight.explain import explain_translation
from dhyan.lessons.encoder_decoder.bahdanau import bahdanau
from dhyan.run import load, train
from tests.lessons.untrained_models import ENGLISH, untrained_translator
from tests.tiny_models import tiny_recipe, write_corpus


def test_the_network_of_the_notes_has_thirty_parameters():
    result = bahdanau()
    assert result.parameters == (24, 3, 3)
    assert sum(parameter.numel() for parameter in AdditiveScore(4, 4, 3).parameters()) == 30
    assert "24 + 3 + 3 = 30" in result.text()
    assert "24 + 3 + 3 = 30" in result.text("hi")


def test_the_shapes_are_those_of_the_notes():
    result = bahdanau()
    assert result.rows.shape == (4, 8)
    assert result.w.shape == (8, 3)
    assert result.inner.shape == (4, 3)
    assert result.scores.shape == result.weights.shape == (4,)
    assert result.context.shape == (4,)


def test_the_first_score_matches_a_calculation_by_hand():
    s, h = (0.3, 0.2, 0.9, 0.8), (1, 0.5, 0.6, 0.3)
    result = bahdanau()
    assert result.rows[0].tolist() == [*s, *h]
    summed = [sum(x * w for x, w in zip((*s, *h), column, strict=True)) for column in zip(
        *result.w.tolist(), strict=True)]  # fmt: skip
    inner = torch.tensor([a + b for a, b in zip(summed, (-1, 1, -2.5), strict=True)]).tanh()
    assert result.inner[0].tolist() == pytest.approx(inner.tolist(), abs=1e-6)
    score = float(2.5 * inner[0] - 2 * inner[1] + 3 * inner[2])
    assert result.scores[0] == pytest.approx(score, abs=1e-6)


def test_every_word_attends_to_its_source_word():
    result = bahdanau()
    strongest = [result.words[column] for column in result.all_weights.argmax(1).tolist()]
    assert dict(zip(result.target, strongest, strict=True)) == {
        "लाइट": "lights", "बंद": "off", "करो": "turn", "<end>": "lights",
    }  # fmt: skip
    assert result.all_weights[0, 3] > 0.7
    for lang in ("en", "hi"):
        assert "s_0 → लाइट" in result.text(lang)
    assert bahdanau(decoder=[[1, 0, 0, 0]]).target == ()


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_row_by_row_is_the_batch_is_the_two_halves_is_the_project(step):
    result = bahdanau(step=step)
    for other in (result.scores_by_row, result.split, result.module):
        torch.testing.assert_close(other, result.scores)
    torch.testing.assert_close(result.all_weights[step - 1], result.weights)
    torch.testing.assert_close(result.all_contexts[step - 1], result.context)
    assert result.max_difference < 1e-12


def test_from_step_to_step_only_s_changes():
    steps = [bahdanau(step=step) for step in (1, 2, 3, 4)]
    for step, other in itertools.pairwise(steps):
        assert torch.equal(step.keys, other.keys)
        assert torch.equal(step.rows[:, 4:], other.rows[:, 4:])
        assert not torch.equal(step.rows[:, :4], other.rows[:, :4])
        assert not torch.equal(step.weights, other.weights)


def test_permuted_words_have_permuted_weights():
    permutation = [3, 0, 2, 1]
    result, states = bahdanau(), bahdanau().states
    other = bahdanau(sentence="lights turn the off", states=states[permutation])
    torch.testing.assert_close(other.weights, result.weights[permutation])
    torch.testing.assert_close(other.context, result.context)


def test_other_widths_work():
    result = bahdanau(
        "come in", states=[[1], [2]], decoder=[[1, 0, 0]], w=[[1, 1]] * 4, b=[0, 0], v=[1, 0]
    )
    assert result.parameters == (8, 2, 2)
    assert result.max_difference < 1e-12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": 5}, "step 5: decoder has 4 steps; give one from 1 to 4"),
        ({"step": 0}, "step 0: decoder has 4 steps"),
        ({"b": [1, 2]}, r"b: w has 3 columns, so give 3 numbers, such as \[1, 0, 0\]"),
        ({"v": [0.0, 1.0, float("nan")]}, "v: w has 3 columns, so give 3 numbers"),
        ({"w": [[1, 2]]}, "w: has 1 rows, but the 4 numbers of s and the 4 of h are 8"),
        ({"states": [[1]]}, "states: has 1 rows, but the words of 'turn off the lights' are 4"),
        ({"sentence": ""}, "the sentence is empty"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(arguments, message):
    with pytest.raises(UserError, match="^" + message):
        bahdanau(**arguments)


@pytest.mark.parametrize("encoder", ["gru", "bi-lstm", "transformer"])
def test_a_models_step_is_what_explain_shows(encoder):
    translator = untrained_translator(encoder, "bahdanau-additive")
    [translation] = translator(ENGLISH[0])
    maps = explain_translation(translator, ENGLISH[0], translation, words=False)
    [only] = [attention_map for attention_map in maps if attention_map.name == "decoder.attention"]
    for step in range(1, len(only.target) + 1):
        look = bahdanau(ENGLISH[0], model=translator, step=step)
        row = only.weights[0, step - 1].double()
        torch.testing.assert_close(look.weights, row, atol=1e-6, rtol=1e-5)
        assert torch.equal(look.explain_weights, row)
        assert (look.words, look.target) == (only.source, only.target)


@pytest.mark.parametrize("decoder", ["bahdanau-additive", "bahdanau-deep-lstm-tied"])
def test_a_models_numbers_are_those_of_its_modules(decoder):
    translator = untrained_translator("gru", decoder)
    look = bahdanau(ENGLISH[0], model=translator, step=2)
    score = translator.model.decoder.attention.score.double()
    with torch.no_grad():
        torch.testing.assert_close(look.projected, score.query(look.query), atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(look.keys, score.key(look.states), atol=1e-6, rtol=1e-5)
        energy = score.energy.detach()
    torch.testing.assert_close(look.inner, torch.tanh(look.projected + look.keys))
    assert torch.equal(look.energy, energy)
    torch.testing.assert_close(look.scores, look.inner @ energy)
    torch.testing.assert_close(look.weights, look.scores.softmax(-1))
    torch.testing.assert_close(look.context, look.weights @ look.states)
    assert look.attentional is None


def test_the_first_state_that_asks_is_the_bridges():
    translator = untrained_translator("gru", "bahdanau-additive")
    first, second = (bahdanau(ENGLISH[0], model=translator, step=step) for step in (1, 2))
    model = translator.model
    source = dhyan.batch.Tokens.pad([translator.encode(ENGLISH[0])])
    initial_state = model.start(source).hidden[0, 0, -1].double()
    torch.testing.assert_close(first.query, initial_state)
    assert first.query_name == "s_0"
    assert second.query_name == "s_1"
    assert not torch.equal(first.query, second.query)
    assert torch.equal(first.keys, second.keys)


def test_a_models_attention_step_is_rendered():
    look = bahdanau(ENGLISH[0], model=untrained_translator("gru", "bahdanau-additive"), step=2)
    assert "These weights are those of dhyan.explain" in " ".join(look.text().split())
    assert "वही हैं" in look.text("hi")
    assert "U h_j (6 of 24)" in look.text()
    assert look.figure(dark=True).axes


@pytest.mark.parametrize(
    ("decoder", "message"),
    [
        ("luong-dot", "its decoder is a LuongDecoder; the lesson bahdanau takes apart a Bahdanau"),
        ("bahdanau-general", "its score is a GeneralScore; the lesson bahdanau takes apart additi"),
        ("bahdanau-coverage", "its score is a CoverageScore"),
        ("bahdanau-multihead-additive", "its attention has several heads"),
    ],
)
def test_a_model_without_this_attention_is_an_error(decoder, message):
    with pytest.raises(UserError, match="^model: " + message):
        bahdanau(model=untrained_translator("gru", decoder))


def test_a_step_past_the_end_or_matrices_with_a_model_are_errors(tmp_path):
    translator = untrained_translator("gru", "bahdanau-additive")
    with pytest.raises(UserError, match="^step 99: the translation has . steps"):
        bahdanau(model=translator, step=99)
    with pytest.raises(
        UserError, match="^v: the model brings its own numbers; leave out v or the mod"
    ):
        bahdanau(model=translator, v=[1, 2, 3])
    with pytest.raises(UserError, match="nowhere"):
        bahdanau(model=tmp_path / "nowhere")


def test_the_snapshot_has_an_attention_step():
    look = bahdanau(model="snapshot")
    assert look.provenance is not None
    torch.testing.assert_close(
        look.inner, torch.tanh(look.projected + look.keys), atol=1e-3, rtol=0
    )
    torch.testing.assert_close(look.scores, look.inner @ look.energy, atol=5e-3, rtol=0)
    torch.testing.assert_close(look.weights, look.scores.softmax(-1), atol=1e-3, rtol=0)
    torch.testing.assert_close(look.context, look.weights @ look.states, atol=1e-3, rtol=0)
    assert look.max_difference < 1e-5
    same = bahdanau(look.sentence, model="snapshot", step=look.step)
    assert torch.equal(same.weights, look.weights)
    with pytest.raises(
        UserError, match=r"model: the snapshot is step . of .*give model=RUN, a folder of"
    ):
        bahdanau("come in", model="snapshot")
    with pytest.raises(UserError, match="model: the snapshot is step"):
        bahdanau(model="snapshot", step=look.step + 1)


@pytest.mark.slow
def test_a_trained_run_is_opened_by_its_folder(tmp_path):
    recipe = tiny_recipe("rnn", *write_corpus(tmp_path), **{"training.steps": 8})
    for _ in train(recipe, tmp_path / "run", device="cpu"):
        pass
    look = bahdanau("seventy two", model=tmp_path / "run")
    assert look.max_difference < 1e-5
    maps = dhyan.explain(load(tmp_path / "run", device="cpu"), "seventy two", words=False)
    torch.testing.assert_close(look.weights, maps[0].weights[0, 0].double(), atol=1e-5, rtol=1e-4)
    assert load_recipe("numbers").decoder.kind == "bahdanau"
