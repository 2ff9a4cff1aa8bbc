"""The engine against the plain search: the same words, and scores to rounding."""

import random
from dataclasses import replace

import pytest
import torch

from dhyan.batch import Tokens
from dhyan.config import DecodingOptions
from dhyan.decoding import search_requests
from dhyan.decoding.engine import engine as engine_module
from dhyan.decoding.engine import engine_supports
from dhyan.decoding.engine.engine import Engine, supports_model
from dhyan.decoding.ensemble import Ensemble
from dhyan.decoding.request import Request
from dhyan.decoding.rules import forbid_tokens
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.run import load, train
from dhyan.special_tokens import EOS
from tests.insight.test_explain import translator_of
from tests.laws.family import MODELS, VOCABULARY, build
from tests.tiny_models import tiny_recipe, write_corpus

SUITED = [kind for kind in MODELS if supports_model(build(*kind))]
OFTEN = [("transformer", "transformer"), ("gru", "bahdanau-additive"), ("gru", "luong-general")]


def lively(kind, seed):
    """A model that says one thing here and another there, and comes to an end now and then."""
    torch.manual_seed(seed)
    model = build(*kind).eval()
    with torch.no_grad():
        model.decoder.output.weight.mul_(4.0)
        model.decoder.output.bias[EOS] += random.Random(seed).choice([-1.0, 0.5, 2.0])
    return model


def sentences(seed, count):
    rng = random.Random(seed)
    made = [
        [*(rng.randrange(3, VOCABULARY) for _ in range(rng.randrange(0, 12))), EOS]
        for _ in range(count)
    ]
    return made, [rng.randrange(1, 16) for _ in made]


def plainly(model, sources, limits, width, power):
    source, limit = Tokens.pad(sources), torch.tensor(limits)
    if width == 1:
        found = greedy_search(model, source, max_length=limit, length_penalty=power)
        return [[one] for one in found]
    return beam_search(model, source, beam=width, max_length=limit, length_penalty=power)


def same(ours, theirs):
    assert [[h.ids for h in own] for own in ours] == [[h.ids for h in own] for own in theirs]
    assert [[h.finished for h in own] for own in ours] == [
        [h.finished for h in own] for own in theirs
    ]
    for own, other in zip(ours, theirs, strict=True):
        assert [h.score for h in own] == pytest.approx([h.score for h in other], abs=1e-4)


@pytest.mark.parametrize("kind", SUITED, ids=lambda kind: "-".join(kind))
def test_the_engine_finds_what_the_plain_search_finds(kind):
    seed = SUITED.index(kind)
    model = lively(kind, seed)
    sources, limits = sentences(seed, 5)
    power = [0.0, 1.0, 0.6][seed % 3]
    engine = Engine(model, torch.float32)
    for width in (1, 3):
        found = engine.translate(sources, beam=width, max_lengths=limits, length_penalty=power)
        same(found, plainly(model, sources, limits, width, power))
    one = engine.translate(sources[:1], beam=1, max_lengths=limits[:1], length_penalty=power)
    same(one, plainly(model, sources[:1], limits[:1], 1, power))


def test_of_a_beam_only_so_many_are_told_as_are_asked_for():
    model = lively(OFTEN[0], 5)
    sources, limits = sentences(5, 6)
    engine = Engine(model, torch.float32)
    found = engine.translate(sources, beam=4, max_lengths=limits, nbest=2)
    same(found, [own[:2] for own in plainly(model, sources, limits, 4, 0.0)])


@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("kind", OFTEN, ids=lambda kind: "-".join(kind))
def test_places_go_to_those_who_wait(kind, width, monkeypatch):
    """More sentences than places: they come and go, and move together towards the end."""
    monkeypatch.setattr(engine_module, "MAX_SLOTS", 16)
    model = lively(kind, 7)
    sources, limits = sentences(7, 50)
    engine = Engine(model, torch.float32)
    for _ in range(2):
        found = engine.translate(sources, beam=width, max_lengths=limits, length_penalty=1.0)
        same(found, plainly(model, sources, limits, width, 1.0))


@pytest.mark.parametrize("kind", OFTEN, ids=lambda kind: "-".join(kind))
def test_long_sentences_have_room_of_their_own(kind):
    model = lively(kind, 3)
    sources, limits = sentences(3, 4)
    sources.append([5] * 30 + [EOS])
    limits.append(38)
    engine = Engine(model, torch.float32)
    engine_module.MIN_CAPACITY, before = 16, engine_module.MIN_CAPACITY
    try:
        found = engine.translate(sources, beam=3, max_lengths=limits, length_penalty=0.0)
    finally:
        engine_module.MIN_CAPACITY = before
    assert len(engine.slots) > 1
    same(found, plainly(model, sources, limits, 3, 0.0))


def test_a_search_that_was_broken_off_leaves_nothing_behind():
    model = lively(OFTEN[0], 2)
    sources, limits = sentences(2, 6)
    engine = Engine(model, torch.float32)
    wanted = engine.translate(sources, beam=2, max_lengths=limits)
    [slots] = engine.slots.values()
    with torch.inference_mode():
        slots.load([[4, EOS]] * 8, [50] * 8, range(8))
    same(engine.translate(sources, beam=2, max_lengths=limits), wanted)


@pytest.mark.parametrize("encoder", ["transformer-post-learned"])
@pytest.mark.parametrize("decoder", ["luong-general", "transformer"])
def test_sources_as_long_as_the_model_takes(encoder, decoder):
    model = lively((encoder, decoder), 4)
    sources = [[5] * (model.encoder.max_length - 1) + [EOS], [4, EOS]]
    found = Engine(model, torch.float32).translate(sources, beam=2, max_lengths=[4, 4])
    same(found, plainly(model, sources, [4, 4], 2, 0.0))


def test_what_happens_to_a_model_later_does_not_change_its_engine():
    model = lively(OFTEN[0], 1)
    sources, limits = sentences(1, 3)
    engine = Engine(model, torch.float32)
    wanted = plainly(model, sources, limits, 2, 0.0)
    with torch.no_grad():
        model.decoder.output.weight.zero_()
    same(engine.translate(sources, beam=2, max_lengths=limits), wanted)


def test_a_model_without_numbers_has_no_hypotheses():
    model = lively(OFTEN[0], 1)
    with torch.no_grad():
        model.decoder.output.bias.fill_(torch.nan)
    engine = Engine(model, torch.float32)
    [[greedy]] = engine.translate([[4, EOS]], beam=1, max_lengths=[5])
    assert greedy.score == -torch.inf
    assert not greedy.ids
    assert engine.translate([[4, EOS]], beam=3, max_lengths=[5]) == [[]]


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind not in SUITED], ids="-".join)
def test_a_model_of_another_kind_is_refused(kind):
    with pytest.raises(ValueError, match="plain search"):
        Engine(build(*kind), torch.float32)


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
    monkeypatch.setattr(search_requests, "engine_for", lambda model: used.append(model) or Engine)
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
        searcher = search_requests.Searcher(
            model, options, rules, translator.target, translator.device, 4096, fast=True
        )
        list(searcher.search([replace(request, **constraint)]))
    assert not used


@pytest.mark.parametrize("beam", [1, 3])
def test_a_fast_translator_says_what_a_plain_one_says(tmp_path, beam):
    source, target = write_corpus(tmp_path)
    recipe = tiny_recipe("transformer", source, target)
    list(train(recipe, tmp_path / "run", device="cpu"))
    plain = load(tmp_path / "run", device="cpu")
    texts = ["forty two", "", "six thousand nine", "one"]
    options = {"beam": beam, "nbest": beam, "max_length": 12}
    if beam > 1:
        options["coverage_penalty"] = 0.1
    heard = []
    ours = replace(plain, fast=True)(texts, on_progress=heard.append, **options)
    assert heard == [3]
    for one, other in zip(ours, plain(texts, **options), strict=True):
        assert one.text == other.text
        assert one.score == pytest.approx(other.score, abs=1e-4)
        assert len(one.others) == len(other.others)
