"""Drawn words: their frequencies, what can be drawn at all, and whose luck it is."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dhyan.config import DecodingOptions
from dhyan.config.settings import settings_of
from dhyan.decoding import sampling
from dhyan.decoding.rules import forbid_tokens
from dhyan.decoding.sampling import Sampler
from dhyan.decoding.search import greedy_search
from tests.reference_loops import SOURCE, SOURCES, lively, searched

SCORES = torch.tensor([0.5, -1.0, 2.0, -math.inf, 1.0, 0.0, 1.5, -0.5, 0.7, -2.0])


def softmax(scores):
    """Written out."""
    whole = sum(math.exp(s) for s in scores)
    return [math.exp(s) / whole for s in scores]


def reference(scores, temperature, top_k, top_p):
    """The chances after temperature, then the best_token few, then the best_token share."""
    chances = softmax([s / temperature for s in scores])
    ranked = sorted(range(len(scores)), key=lambda i: -chances[i])
    ranked = ranked[: top_k or len(ranked)]
    whole, kept, reached = sum(chances[i] for i in ranked), [], 0.0
    for i in ranked:
        if reached < top_p:
            kept.append(i)
        reached += chances[i] / whole
    share = sum(chances[i] for i in kept)
    return [chances[i] / share if i in kept else 0.0 for i in range(len(scores))]


@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.5, 0.01])
@pytest.mark.parametrize("top_k", [0, 1, 3, 50])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_chances_are_the_ones_written_out(temperature, top_k, top_p):
    sampler = Sampler(temperature=temperature, top_k=top_k, top_p=top_p, numbers=[0])
    wanted = reference(SCORES.tolist(), temperature, top_k, top_p)
    chances = sampler.probs(SCORES.expand(2, -1))
    for row in chances.tolist():
        assert row == pytest.approx(wanted, abs=1e-6)
        assert [c > 0 for c in row] == [w > 0 for w in wanted]


@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (4, 1.0), (0, 0.8)])
def test_words_are_drawn_as_often_as_their_chance(top_k, top_p):
    draws = 5000
    sampler = Sampler(top_k=top_k, top_p=top_p, seed=7, numbers=range(draws))
    drawn = sampler(SCORES.expand(draws, -1), torch.arange(draws), 3)
    counts = drawn.bincount(minlength=len(SCORES)).tolist()
    wanted = [draws * chance for chance in reference(SCORES.tolist(), 1.0, top_k, top_p)]
    assert all(count == 0 for count, want in zip(counts, wanted, strict=True) if not want)
    distance = sum((c - w) ** 2 / w for c, w in zip(counts, wanted, strict=True) if w)
    assert distance < 26.1  # chi-square with 8 degrees of freedom exceeds it once in a thousand


def test_the_words_of_one_sentence_are_drawn_as_often_as_their_chance():
    draws = 3000
    sampler = Sampler(seed=1, numbers=[4])
    row, sentence = SCORES.unsqueeze(0), torch.tensor([0])
    counts = torch.zeros(len(SCORES))
    for length in range(1, draws + 1):
        counts[sampler(row, sentence, length)] += 1
    wanted = draws * SCORES.softmax(0)
    assert ((counts - wanted) ** 2 / wanted.clamp(min=1e-9)).sum() < 26.1


def drawn(model, source, numbers, **options):
    sampler = Sampler(numbers=numbers, **options)
    return [h.ids for h in greedy_search(model, source, max_length=12, choose=sampler)]


def test_what_is_drawn_does_not_depend_on_the_batch():
    model = lively(0)
    together = drawn(model, SOURCES, [10, 20, 30], seed=5)
    for row, number in enumerate([10, 20, 30]):
        source = SOURCES.select(torch.tensor([row]))
        assert drawn(model, source, [number], seed=5) == [together[row]]
    turned = SOURCES.select(torch.tensor([2, 0, 1]))
    again = drawn(model, turned, [30, 10, 20], seed=5)
    assert again == [together[2], together[0], together[1]]


def test_seeds_and_sentences_have_their_own_luck():
    model = lively(0, ending=-3.0)
    same = SOURCE.select(torch.zeros(20, dtype=torch.long))
    first, second = (drawn(model, same, range(20), seed=seed) for seed in (1, 2))
    assert len(set(first)) == 20
    assert all(a != b for a, b in zip(first, second, strict=True))
    assert drawn(model, same, range(20), seed=1) == first


@pytest.mark.parametrize("options", [{"temperature": 1e-4}, {"top_k": 1}, {"top_p": 1e-4}])
def test_without_chance_it_is_greedy(options):
    model = lively(0)
    sampler = Sampler(numbers=[1, 2, 3], **options)
    greedy = greedy_search(model, SOURCES, max_length=9)
    assert greedy_search(model, SOURCES, max_length=9, choose=sampler) == greedy


def test_what_a_rule_forbids_is_not_drawn():
    model = lively(0, ending=-3.0)
    same = SOURCE.select(torch.zeros(50, dtype=torch.long))
    sampler = Sampler(numbers=range(50), temperature=5.0)
    found = greedy_search(model, same, max_length=20, choose=sampler, rules=[forbid_tokens(6, 7)])
    said = {i for h in found for i in h.ids}
    assert 5 in said
    assert not said & {6, 7}


def test_a_word_without_a_chance_is_not_drawn_by_any_luck(monkeypatch):
    scores = torch.full((4, 7), -math.inf).index_fill(1, torch.tensor([1, 4]), 0.0)
    luck = torch.tensor([0.0, 0.4999, 0.5, 1 - 2**-24]).unsqueeze(1).expand(4, 64)
    monkeypatch.setattr(sampling, "uniform", lambda *given: luck)
    drawn = Sampler(numbers=range(4))(scores, torch.arange(4), 1)
    assert drawn.tolist() == [1, 1, 4, 4]


def test_the_coldest_temperature_still_draws_the_likeliest():
    sampler = Sampler(numbers=[1], temperature=settings_of(DecodingOptions)["temperature"].low)
    far = SCORES.unsqueeze(0) - 1e3
    assert sampler.probs(far).argmax() == SCORES.argmax()
    assert sampler.probs(far).sum() == 1


class NoDoubles(TorchDispatchMode):
    """A device without double precision: to make such a tensor is an error."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else (made,):
            assert not isinstance(one, torch.Tensor) or one.dtype != torch.float64, func
        return made


def test_drawing_and_phrases_need_no_double_precision():
    sampling.uniform.cache_clear()
    with NoDoubles():
        greedy_search(
            lively(0), SOURCES, max_length=5, choose=Sampler(numbers=[1, 2, 3], top_p=0.9)
        )
        searched(lively(0), SOURCES, width=4, max_length=5, groups=2, required=[[(6, 7)]] * 3)
