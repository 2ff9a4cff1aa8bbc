"""Models that speak together: the mean of their probabilities, whatever kind they are."""

from dataclasses import replace

import pytest
import torch

import dhyan
from dhyan.batch import Batch, Tokens
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.forced_decoding import force_decode
from dhyan.decoding.search import StepModel
from dhyan.decoding.translator import LengthLimits, join_translators
from dhyan.errors import UserError
from dhyan.insight.explain import cross_maps, explain_translation
from dhyan.text.tokenizer import Tokenizer
from tests.insight.test_explain import ENGLISH, HINDI, translator_of
from tests.laws.family import build

KINDS = [("bi-lstm", "bahdanau-additive"), ("transformer", "transformer"), ("gru", "luong-dot")]
SOURCE = Tokens.pad([[5, 6, 7, 2], [8, 9, 2]])
BATCH = Batch(SOURCE, Tokens.pad([[1, 6, 5, 4, 2], [1, 7, 9, 2]]))


@pytest.fixture(scope="module")
def models():
    torch.manual_seed(0)
    return [build(*kind).eval() for kind in KINDS]


@pytest.fixture(scope="module")
def translators():
    return [translator_of(kind) for kind in KINDS]


@torch.inference_mode()
def test_probabilities_are_the_mean(models):
    mean = torch.stack([model(BATCH).softmax(-1) for model in models]).mean(0)
    torch.testing.assert_close(Ensemble(models)(BATCH).exp(), mean)


@torch.inference_mode()
def test_a_word_at_a_time_equals_all_at_once_and_rows_can_be_reordered(models):
    ensemble = Ensemble(models)
    assert isinstance(ensemble, StepModel)
    state, rows = ensemble.start(SOURCE), torch.tensor([1, 0])
    together = ensemble(BATCH)
    for place in range(3):
        logits, state = ensemble.step(BATCH.inputs.ids[:, place], state)
        torch.testing.assert_close(logits, together[:, place], atol=1e-5, rtol=1e-4)
    turned, _ = ensemble.step(BATCH.inputs.ids[rows, 3], state.select(rows))
    straight, _ = ensemble.step(BATCH.inputs.ids[:, 3], state)
    torch.testing.assert_close(turned, straight[rows], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("way", [{"beam": 1}, {"beam": 4, "nbest": 3}, {"sample": True}])
def test_one_model_twice_is_the_model(translators, way):
    for one in translators:
        twice = join_translators([one, one])
        for alone, both in zip(one(ENGLISH, **way), twice(ENGLISH, **way), strict=True):
            assert both.ids == alone.ids
            assert both.score == pytest.approx(alone.score, abs=1e-5)


def test_models_of_any_kind_speak_together_in_any_order(translators):
    said = join_translators(translators)(ENGLISH, beam=3)
    assert said == join_translators([join_translators(translators[:2]), translators[2]])(
        ENGLISH, beam=3
    )
    turned = join_translators(translators[::-1])(ENGLISH, beam=3)
    assert [one.ids for one in said] == [one.ids for one in turned]


def test_every_attention_of_every_model_is_explained(translators):
    voice = join_translators(translators)
    [said] = voice(ENGLISH[0])
    maps = {one.name: one for one in explain_translation(voice, ENGLISH[0], said)}
    for number, translator in enumerate(translators):
        for one in explain_translation(translator, ENGLISH[0], said):
            ours = maps.pop(f"models.{number}.{one.name}")
            assert (ours.source, ours.target) == (one.source, one.target)
            torch.testing.assert_close(ours.weights, one.weights)
    assert not maps
    assert len(cross_maps(dhyan.explain(voice, ENGLISH[0]))) == 4


def test_every_model_counts_alike_in_an_alignment_however_many_attentions_it_has(models):
    source, target = [[5, 6, 7, 2]], [[1, 6, 5, 4, 2]]
    look = force_decode(Ensemble(models), source, target, torch.device("cpu"))
    own = [force_decode(one, source, target, torch.device("cpu")) for one in models]
    torch.testing.assert_close(
        look.source_attention(), torch.stack([one.source_attention() for one in own]).mean(0)
    )
    assert len({len(one.attention) for one in own}) > 1
    torch.testing.assert_close(look.source_attention("models.1."), own[1].source_attention())
    torch.testing.assert_close(
        look.source_attention("layers.0"), own[1].source_attention("layers.0")
    )


def test_models_in_training_stay_in_training(translators):
    for one in translators:
        one.model.train()
    join_translators(translators)("a dog")
    assert all(module.training for one in translators for module in one.model.modules())
    for one in translators:
        one.model.eval()


def test_the_narrowest_limits_hold(translators):
    first, second = translators[0], replace(translators[1], limits=LengthLimits(source=7, target=9))
    assert join_translators([first, second]).limits == LengthLimits(source=7, target=9)
    assert join_translators([first]).limits == first.limits


def test_models_that_do_not_fit_are_refused_by_their_difference(translators):
    first = translators[0]
    longer = Tokenizer.train([*HINDI, "एक और वाक्य"], kind="unigram", size=400)
    words = Tokenizer.train(ENGLISH, kind="words", size=300)
    with pytest.raises(
        UserError, match=r"model 2: their target vocabularies differ: \d+ tokens and \d+"
    ):
        join_translators([first, replace(first, target=longer)])
    with pytest.raises(UserError, match="no ensemble of A and B: their source vocab"):
        join_translators([first, replace(first, source=words)], names=["A", "B"])
    with pytest.raises(UserError, match="one copies nothing, the other number"):
        join_translators([first, replace(first, placeholders=("number",))])
