"""The engine against the plain search: the same token ids, and scores to rounding."""

import random
from dataclasses import replace

import pytest
import torch

from dhyan.batch import Tokens
from dhyan.config import DecodingOptions
from dhyan.decoding import engine
from dhyan.decoding.engine import engine as engine_module
from dhyan.decoding.engine import engine_supports
from dhyan.decoding.engine.engine import Engine, supports_model
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.prepare_requests import Request
from dhyan.decoding.rules import forbid_tokens
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.decoding.searcher import Searcher
from dhyan.run import load, train
from dhyan.special_tokens import EOS
from tests.insight.test_explain import translator_of
from tests.laws.family import MODELS, VOCABULARY, build
from tests.tiny_models import tiny_recipe, write_corpus

SUPPORTED_MODELS = [pair for pair in MODELS if supports_model(build(*pair))]
COMMON_MODELS = [
    ("transformer", "transformer"),
    ("gru", "bahdanau-additive"),
    ("gru", "luong-general"),
]


def random_model(pair, seed):
    """A random model with large output weights, which ends now and then."""
    torch.manual_seed(seed)
    model = build(*pair).eval()
    with torch.no_grad():
        model.decoder.output.weight.mul_(4.0)
        model.decoder.output.bias[EOS] += random.Random(seed).choice([-1.0, 0.5, 2.0])
    return model


def sentences(seed, count):
    rng = random.Random(seed)
    sources = [
        [*(rng.randrange(3, VOCABULARY) for _ in range(rng.randrange(0, 12))), EOS]
        for _ in range(count)
    ]
    return sources, [rng.randrange(1, 16) for _ in sources]


def plain_search(model, sources, max_lengths, beam, length_penalty):
    source, limit = Tokens.pad(sources), torch.tensor(max_lengths)
    if beam == 1:
        results = greedy_search(model, source, max_length=limit, length_penalty=length_penalty)
        return [[hypothesis] for hypothesis in results]
    return beam_search(model, source, beam=beam, max_length=limit, length_penalty=length_penalty)


def same(results, expected):
    assert [[h.ids for h in hypotheses] for hypotheses in results] == [
        [h.ids for h in hypotheses] for hypotheses in expected
    ]
    assert [[h.finished for h in hypotheses] for hypotheses in results] == [
        [h.finished for h in hypotheses] for hypotheses in expected
    ]
    for hypotheses, other in zip(results, expected, strict=True):
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in other], abs=1e-4)


@pytest.mark.parametrize("pair", SUPPORTED_MODELS, ids=lambda pair: "-".join(pair))
def test_the_engine_equals_the_plain_search(pair):
    seed = SUPPORTED_MODELS.index(pair)
    model = random_model(pair, seed)
    sources, max_lengths = sentences(seed, 5)
    length_penalty = [0.0, 1.0, 0.6][seed % 3]
    engine = Engine(model, torch.float32)
    for beam in (1, 3):
        results = engine.translate(
            sources, beam=beam, max_lengths=max_lengths, length_penalty=length_penalty
        )
        same(results, plain_search(model, sources, max_lengths, beam, length_penalty))
    hypothesis = engine.translate(
        sources[:1], beam=1, max_lengths=max_lengths[:1], length_penalty=length_penalty
    )
    same(hypothesis, plain_search(model, sources[:1], max_lengths[:1], 1, length_penalty))


def test_only_nbest_of_a_beam_are_returned():
    model = random_model(COMMON_MODELS[0], 5)
    sources, max_lengths = sentences(5, 6)
    engine = Engine(model, torch.float32)
    results = engine.translate(sources, beam=4, max_lengths=max_lengths, nbest=2)
    same(
        results,
        [hypotheses[:2] for hypotheses in plain_search(model, sources, max_lengths, 4, 0.0)],
    )


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("pair", COMMON_MODELS, ids=lambda pair: "-".join(pair))
def test_free_slots_go_to_waiting_sentences(pair, beam, monkeypatch):
    """More sentences than slots: they take turns, and move together towards the end."""
    monkeypatch.setattr(engine_module, "MAX_SLOTS", 16)
    model = random_model(pair, 7)
    sources, max_lengths = sentences(7, 50)
    engine = Engine(model, torch.float32)
    for _ in range(2):
        results = engine.translate(sources, beam=beam, max_lengths=max_lengths, length_penalty=1.0)
        same(results, plain_search(model, sources, max_lengths, beam, 1.0))


@pytest.mark.parametrize("pair", COMMON_MODELS, ids=lambda pair: "-".join(pair))
def test_long_sentences_get_slots_of_larger_capacity(pair):
    model = random_model(pair, 3)
    sources, max_lengths = sentences(3, 4)
    sources.append([5] * 30 + [EOS])
    max_lengths.append(38)
    engine = Engine(model, torch.float32)
    engine_module.MIN_CAPACITY, before = 16, engine_module.MIN_CAPACITY
    try:
        results = engine.translate(sources, beam=3, max_lengths=max_lengths, length_penalty=0.0)
    finally:
        engine_module.MIN_CAPACITY = before
    assert len(engine.slots) > 1
    same(results, plain_search(model, sources, max_lengths, 3, 0.0))


def test_an_interrupted_search_leaves_nothing_behind():
    model = random_model(COMMON_MODELS[0], 2)
    sources, max_lengths = sentences(2, 6)
    engine = Engine(model, torch.float32)
    expected = engine.translate(sources, beam=2, max_lengths=max_lengths)
    [slots] = engine.slots.values()
    with torch.inference_mode():
        slots.load([[4, EOS]] * 8, [50] * 8, range(8))
    same(engine.translate(sources, beam=2, max_lengths=max_lengths), expected)


@pytest.mark.parametrize("encoder", ["transformer-post-learned"])
@pytest.mark.parametrize("decoder", ["luong-general", "transformer"])
def test_sources_as_long_as_the_model_takes(encoder, decoder):
    model = random_model((encoder, decoder), 4)
    sources = [[5] * (model.encoder.max_length - 1) + [EOS], [4, EOS]]
    results = Engine(model, torch.float32).translate(sources, beam=2, max_lengths=[4, 4])
    same(results, plain_search(model, sources, [4, 4], 2, 0.0))


def test_later_changes_of_a_model_do_not_change_its_engine():
    model = random_model(COMMON_MODELS[0], 1)
    sources, max_lengths = sentences(1, 3)
    engine = Engine(model, torch.float32)
    expected = plain_search(model, sources, max_lengths, 2, 0.0)
    with torch.no_grad():
        model.decoder.output.weight.zero_()
    same(engine.translate(sources, beam=2, max_lengths=max_lengths), expected)


def test_nan_weights_give_no_hypotheses():
    model = random_model(COMMON_MODELS[0], 1)
    with torch.no_grad():
        model.decoder.output.bias.fill_(torch.nan)
    engine = Engine(model, torch.float32)
    [[greedy]] = engine.translate([[4, EOS]], beam=1, max_lengths=[5])
    assert greedy.score == -torch.inf
    assert not greedy.ids
    assert engine.translate([[4, EOS]], beam=3, max_lengths=[5]) == [[]]


@pytest.mark.parametrize(
    "pair", [pair for pair in MODELS if pair not in SUPPORTED_MODELS], ids="-".join
)
def test_an_unsupported_decoder_is_an_error(pair):
    with pytest.raises(ValueError, match="plain search"):
        Engine(build(*pair), torch.float32)


SUPPORTED = {
    "greedy": (True, DecodingOptions(beam=1)),
    "beam": (True, DecodingOptions(beam=5, nbest=3, length_penalty=0.5, coverage_penalty=0.2)),
    "sample": (False, DecodingOptions(sample=True)),
    "groups": (False, DecodingOptions(beam=4, beam_groups=2)),
    "wide": (False, DecodingOptions(beam=100)),
}


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_engine_supports_greedy_search_and_one_beam(name):
    supported, options = SUPPORTED[name]
    assert engine_supports(build("transformer", "transformer"), options) is supported


def test_the_engine_is_used_without_rules_and_constraints_only(monkeypatch):
    used = []
    monkeypatch.setattr(engine, "engine_for", lambda model: used.append(model) or Engine)
    translator = replace(translator_of(("transformer", "transformer")), fast=True)
    rule, request = forbid_tokens(5), Request((5, EOS), 0, 0, max_length=3)
    for changes, rules, constraint, model in (
        ({}, [rule], {}, translator.model),
        ({"min_length": 2}, [], {}, translator.model),
        ({"no_repeat_ngram": 2}, [], {}, translator.model),
        ({}, [], {"prefix": (5,)}, translator.model),
        ({}, [], {"required": ((5,),)}, translator.model),
        ({}, [], {}, Ensemble([translator.model, translator.model])),
    ):
        options = DecodingOptions(beam=2, **changes)
        searcher = Searcher(
            model, options, rules, translator.target, translator.device, 4096, fast=True
        )
        list(searcher.search([replace(request, **constraint)]))
    assert not used


@pytest.mark.parametrize("beam", [1, 3])
def test_a_fast_translator_equals_a_plain_one(tmp_path, beam):
    source, target = write_corpus(tmp_path)
    recipe = tiny_recipe("transformer", source, target)
    list(train(recipe, tmp_path / "run", device="cpu"))
    plain = load(tmp_path / "run", device="cpu")
    texts = ["forty two", "", "six thousand nine", "one"]
    options = {"beam": beam, "nbest": beam, "max_length": 12}
    if beam > 1:
        options["coverage_penalty"] = 0.1
    progress = []
    results = replace(plain, fast=True)(texts, on_progress=progress.append, **options)
    assert progress == [3]
    for hypothesis, other in zip(results, plain(texts, **options), strict=True):
        assert hypothesis.text == other.text
        assert hypothesis.score == pytest.approx(other.score, abs=1e-4)
        assert len(hypothesis.others) == len(other.others)
