"""Ensembles: the mean of the probabilities of models of any kind."""

from dataclasses import replace

import pytest
import torch

import dhyan
from dhyan.batch import Batch, Tokens
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.forced_decoding import force_decode
from dhyan.decoding.search import StepModel
from dhyan.decoding.translator import LengthLimits
from dhyan.errors import UserError
from dhyan.insight.explain import cross_maps, explain_translation
from dhyan.run.load import join_translators
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
def test_a_token_at_a_time_equals_all_at_once(models):
    ensemble = Ensemble(models)
    assert isinstance(ensemble, StepModel)
    state, rows = ensemble.start(SOURCE), torch.tensor([1, 0])
    batched = ensemble(BATCH)
    for position in range(3):
        logits, state = ensemble.step(BATCH.inputs.ids[:, position], state)
        torch.testing.assert_close(logits, batched[:, position], atol=1e-5, rtol=1e-4)
    reordered, _ = ensemble.step(BATCH.inputs.ids[rows, 3], state.select(rows))
    straight, _ = ensemble.step(BATCH.inputs.ids[:, 3], state)
    torch.testing.assert_close(reordered, straight[rows], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4, "nbest": 3}, {"sample": True}])
def test_a_model_twice_is_the_model(translators, options):
    for translator in translators:
        twice = join_translators([translator, translator])
        for alone, both in zip(
            translator(ENGLISH, **options), twice(ENGLISH, **options), strict=True
        ):
            assert both.ids == alone.ids
            assert both.score == pytest.approx(alone.score, abs=1e-5)


def test_the_order_of_models_does_not_matter(translators):
    translations = join_translators(translators)(ENGLISH, beam=3)
    assert translations == join_translators([join_translators(translators[:2]), translators[2]])(
        ENGLISH, beam=3
    )
    reordered = join_translators(translators[::-1])(ENGLISH, beam=3)
    assert [result.ids for result in translations] == [result.ids for result in reordered]


def test_every_attention_of_every_model_is_explained(translators):
    ensemble_translator = join_translators(translators)
    [translation] = ensemble_translator(ENGLISH[0])
    maps = {
        attention_map.name: attention_map
        for attention_map in explain_translation(ensemble_translator, ENGLISH[0], translation)
    }
    for number, translator in enumerate(translators):
        for attention_map in explain_translation(translator, ENGLISH[0], translation):
            ours = maps.pop(f"models.{number}.{attention_map.name}")
            assert (ours.source, ours.target) == (attention_map.source, attention_map.target)
            torch.testing.assert_close(ours.weights, attention_map.weights)
    assert not maps
    assert len(cross_maps(dhyan.explain(ensemble_translator, ENGLISH[0]))) == 4


def test_models_have_equal_weight_in_an_alignment(models):
    source, target = [[5, 6, 7, 2]], [[1, 6, 5, 4, 2]]
    forced = force_decode(Ensemble(models), source, target, torch.device("cpu"))
    separate = [force_decode(model, source, target, torch.device("cpu")) for model in models]
    torch.testing.assert_close(
        forced.source_attention(),
        torch.stack([result.source_attention() for result in separate]).mean(0),
    )
    assert len({len(result.attention) for result in separate}) > 1
    torch.testing.assert_close(forced.source_attention("models.1."), separate[1].source_attention())
    torch.testing.assert_close(
        forced.source_attention("layers.0"), separate[1].source_attention("layers.0")
    )


def test_models_in_training_stay_in_training(translators):
    for translator in translators:
        translator.model.train()
    join_translators(translators)("a dog")
    assert all(
        module.training for translator in translators for module in translator.model.modules()
    )
    for translator in translators:
        translator.model.eval()


def test_the_smallest_length_limits_hold(translators):
    first, second = translators[0], replace(translators[1], limits=LengthLimits(source=7, target=9))
    assert join_translators([first, second]).limits == LengthLimits(source=7, target=9)
    assert join_translators([first]).limits == first.limits


def test_models_with_other_vocabularies_are_an_error(translators):
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
