"""Multiplicative attention by hand, its three scores, and inside a trained model."""

import pytest
import torch

from dhyan.attention import AdditiveScore, DotScore, GeneralScore, SingleHeadAttention
from dhyan.batch import Tokens
from dhyan.errors import UserError
from dhyan.insight.explain import explain_translation, target_ids
from dhyan.lessons.encoder_decoder.bahdanau import bahdanau
from dhyan.lessons.encoder_decoder.luong import SCORES, luong
from tests.lessons.untrained_models import ENGLISH, untrained_translator


def module_scores(score, result):
    """The project's scores for the same state and sentence."""
    attention = SingleHeadAttention(score.double(), need_weights=True)
    mask = torch.ones(1, len(result.states), dtype=torch.bool)
    with torch.no_grad():
        memory = attention.remember(result.states.unsqueeze(0), mask)
        query = result.decoder[result.step - 1]
        attended = attention(query[None, None], memory)
        return score(query[None, None, None], memory)[0, 0, 0], attended.context[0, 0]


def test_dot_matches_a_calculation_by_hand():
    result = luong()
    assert result.scores[0].tolist() == pytest.approx([1.35, 0.75, 0.45, 2.55])
    assert result.weights[0].tolist() == pytest.approx([0.190, 0.104, 0.077, 0.629], abs=5e-4)


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_every_score_is_the_projects(step):
    result = luong(step=step)
    general, concat = GeneralScore(4, 4), AdditiveScore(4, 4, 3)
    with torch.no_grad():
        general.key.weight.copy_(result.general)
        concat.query.weight.copy_(result.network.w[:4].T)
        concat.query.bias.copy_(result.network.b)
        concat.key.weight.copy_(result.network.w[4:].T)
        concat.energy.copy_(result.network.v)
    for row, score in enumerate((DotScore(), general, concat)):
        scores, context = module_scores(score, result)
        torch.testing.assert_close(result.scores[row], scores, atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(result.contexts[row], context, atol=1e-6, rtol=1e-6)


def test_dot_is_general_without_a_map():
    result = luong(general=torch.eye(4))
    torch.testing.assert_close(result.scores[0], result.scores[1])


def test_general_multiplies_s_from_the_left():
    transposed = luong(general=luong().general.T)
    assert not torch.allclose(transposed.scores[1], luong().scores[1])
    query = luong().decoder[0]
    by_hand = torch.stack([query @ luong().general @ h for h in luong().states])
    torch.testing.assert_close(luong().scores[1], by_hand)


def test_concat_is_bahdanaus_network_with_another_query():
    result = luong()
    same = bahdanau(decoder=result.decoder)
    torch.testing.assert_close(result.scores[2], same.scores)


def test_the_word_is_read_off_context_and_state_together():
    result = luong()
    assert result.joined.shape == (3, 8)
    half = (result.contexts + result.decoder[0]) / 2
    torch.testing.assert_close(result.attentional, half.tanh())
    only_state = luong(combine=[*[[0, 0, 0, 0]] * 4, *torch.eye(4).tolist()])
    torch.testing.assert_close(
        only_state.attentional, result.decoder[0].tanh().expand(len(SCORES), -1)
    )


def test_the_parameters_are_named_in_both_languages():
    for lang in ("en", "hi"):
        assert "16" in luong().text(lang)
        assert "30" in luong().text(lang)
    assert luong().figure(lang="hi", dark=True).axes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"step": 5}, "step 5: decoder has 4 steps; give one from 1 to 4"),
        ({"decoder": [[1, 2]]}, "decoder: its states have 2 numbers and those of the sentence 4"),
        ({"general": [[1, 0]] * 4}, "general: has 2 columns; give 4"),
        ({"combine": [[1, 0, 0, 0]]}, "combine: has 1 rows, but the numbers of .c; s. are 8"),
        ({"v": [1]}, "v: w has 3 columns, so give 3 numbers"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(arguments, message):
    with pytest.raises(UserError, match="^" + message):
        luong(**arguments)


KINDS = {
    "luong-dot": "dot",
    "luong-scaled_dot": "scaled_dot",
    "luong-general": "general",
    "luong-concat": "additive",
    "luong-location": "location",
    "luong-monotonic-dot": "dot",
    "luong-predicted-general": "general",
    "luong-deep-gru-parallel": "general",
}


@pytest.mark.parametrize("decoder", KINDS)
def test_a_models_step_is_what_explain_shows(decoder):
    translator = untrained_translator("gru", decoder)
    [translation] = translator(ENGLISH[0])
    [only] = explain_translation(translator, ENGLISH[0], translation, words=False)
    for step in range(1, len(only.target) + 1):
        look = luong(ENGLISH[0], model=translator, step=step)
        assert look.score_function == KINDS[decoder]
        row = only.weights[0, step - 1].double()
        torch.testing.assert_close(look.weights, row, atol=1e-6, rtol=1e-5)
        assert look.query_name == f"s_{step}"
        assert look.text()
        assert look.text("hi")


def test_a_models_dot_and_general_scores_are_products():
    look = luong(ENGLISH[0], model=untrained_translator("gru", "luong-dot"), step=2)
    torch.testing.assert_close(look.scores, look.states @ look.query, atol=1e-6, rtol=1e-5)
    translator = untrained_translator("gru", "luong-general")
    look = luong(ENGLISH[0], model=translator, step=2)
    general = translator.model.decoder.attention.score.key.weight.detach().double()
    torch.testing.assert_close(look.keys, look.states @ general.T, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(
        look.scores, look.query @ general @ look.states.T, atol=1e-6, rtol=1e-5
    )


@pytest.mark.parametrize("decoder", ["luong-general", "luong-deep-gru-parallel"])
def test_a_models_attentional_vector_is_what_its_words_are_read_off(decoder):
    translator = untrained_translator("gru", decoder)
    [translation] = translator(ENGLISH[0])
    token_ids = target_ids(translation)
    model = translator.model
    with torch.no_grad():
        state = model.start(Tokens.pad([translator.encode(ENGLISH[0])]))
        read, _ = model.decoder.hidden(torch.tensor([token_ids[:2]]), state)
    look = luong(ENGLISH[0], model=translator, step=2)
    torch.testing.assert_close(look.attentional, read[0, 1].double(), atol=1e-6, rtol=1e-5)


def test_a_window_is_shown_where_there_is_one():
    look = luong(ENGLISH[0], model=untrained_translator("gru", "luong-monotonic-dot"))
    assert look.visibility.tolist() == [1, 1, 1, 0, 0]
    assert "window" in look.text()
    assert "window" not in luong(ENGLISH[0], model=untrained_translator("gru", "luong-dot")).text()


@pytest.mark.parametrize(
    ("decoder", "message"),
    [
        (
            "bahdanau-additive",
            "its decoder is a BahdanauDecoder; the lesson luong takes apart a Lu",
        ),
        ("transformer", "its decoder is a TransformerDecoder"),
        (
            "luong-bottleneck",
            "its score is a UniformScore; the lesson luong takes apart dot, scaled",
        ),
        ("luong-multihead-dot", "its attention has several heads"),
    ],
)
def test_a_model_without_this_attention_is_an_error(decoder, message):
    with pytest.raises(UserError, match="^model: " + message):
        luong(model=untrained_translator("gru", decoder))


def test_the_snapshot_has_an_attention_step():
    look = luong(model="snapshot")
    assert look.provenance is not None
    torch.testing.assert_close(look.weights, look.scores.softmax(-1), atol=1e-3, rtol=0)
    torch.testing.assert_close(look.context, look.weights @ look.states, atol=1e-3, rtol=0)
    assert look.attentional is not None
    assert look.max_difference < 1e-5
    with pytest.raises(UserError, match="general: the model brings its own numbers"):
        luong(model="snapshot", general=[[1]])


def test_matrices_with_a_model_are_errors():
    with pytest.raises(UserError, match="^general: the model brings its own numbers"):
        luong(model=untrained_translator("gru", "luong-dot"), general=[[1]])
