"""Sampling: frequencies, top-k and top-p, and independence of the batch."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dhyan.config import DecodingOptions
from dhyan.config.declare_settings import settings_of
from dhyan.decoding import sampling
from dhyan.decoding.rules import forbid_tokens
from dhyan.decoding.sampling import Sampler
from dhyan.decoding.search import greedy_search
from tests.decoding.reference_search import SOURCE, SOURCES, beam_search_with, random_model

SCORES = torch.tensor([0.5, -1.0, 2.0, -math.inf, 1.0, 0.0, 1.5, -0.5, 0.7, -2.0])


def softmax(scores):
    """Softmax in plain Python."""
    total = sum(math.exp(s) for s in scores)
    return [math.exp(s) / total for s in scores]


def reference(scores, temperature, top_k, top_p):
    """Probabilities after temperature, top-k and top-p."""
    probs = softmax([s / temperature for s in scores])
    ranked = sorted(range(len(scores)), key=lambda i: -probs[i])
    ranked = ranked[: top_k or len(ranked)]
    total, allowed, reached = sum(probs[i] for i in ranked), [], 0.0
    for i in ranked:
        if reached < top_p:
            allowed.append(i)
        reached += probs[i] / total
    share = sum(probs[i] for i in allowed)
    return [probs[i] / share if i in allowed else 0.0 for i in range(len(scores))]


@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.5, 0.01])
@pytest.mark.parametrize("top_k", [0, 1, 3, 50])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_probabilities_equal_the_reference(temperature, top_k, top_p):
    sampler = Sampler(temperature=temperature, top_k=top_k, top_p=top_p, numbers=[0])
    expected = reference(SCORES.tolist(), temperature, top_k, top_p)
    probs = sampler.probs(SCORES.expand(2, -1))
    for row in probs.tolist():
        assert row == pytest.approx(expected, abs=1e-6)
        assert [c > 0 for c in row] == [w > 0 for w in expected]


@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (4, 1.0), (0, 0.8)])
def test_frequencies_follow_the_probabilities(top_k, top_p):
    draws = 5000
    sampler = Sampler(top_k=top_k, top_p=top_p, seed=7, numbers=range(draws))
    sampled = sampler(SCORES.expand(draws, -1), torch.arange(draws), 3)
    counts = sampled.bincount(minlength=len(SCORES)).tolist()
    expected = [draws * prob for prob in reference(SCORES.tolist(), 1.0, top_k, top_p)]
    assert all(count == 0 for count, want in zip(counts, expected, strict=True) if not want)
    distance = sum((c - w) ** 2 / w for c, w in zip(counts, expected, strict=True) if w)
    assert distance < 26.1  # chi-square with 8 degrees of freedom exceeds it once in a thousand


def test_frequencies_of_one_sentence_follow_the_probabilities():
    draws = 3000
    sampler = Sampler(seed=1, numbers=[4])
    row, sentence = SCORES.unsqueeze(0), torch.tensor([0])
    counts = torch.zeros(len(SCORES))
    for length in range(1, draws + 1):
        counts[sampler(row, sentence, length)] += 1
    expected = draws * SCORES.softmax(0)
    assert ((counts - expected) ** 2 / expected.clamp(min=1e-9)).sum() < 26.1


def sampled(model, source, numbers, **options):
    sampler = Sampler(numbers=numbers, **options)
    return [h.ids for h in greedy_search(model, source, max_length=12, choose=sampler)]


def test_samples_do_not_depend_on_the_batch():
    model = random_model(0)
    batched = sampled(model, SOURCES, [10, 20, 30], seed=5)
    for row, number in enumerate([10, 20, 30]):
        source = SOURCES.select(torch.tensor([row]))
        assert sampled(model, source, [number], seed=5) == [batched[row]]
    reordered = SOURCES.select(torch.tensor([2, 0, 1]))
    again = sampled(model, reordered, [30, 10, 20], seed=5)
    assert again == [batched[2], batched[0], batched[1]]


def test_seeds_and_sentences_have_random_streams_of_their_own():
    model = random_model(0, ending=-3.0)
    same = SOURCE.select(torch.zeros(20, dtype=torch.long))
    first, second = (sampled(model, same, range(20), seed=seed) for seed in (1, 2))
    assert len(set(first)) == 20
    assert all(a != b for a, b in zip(first, second, strict=True))
    assert sampled(model, same, range(20), seed=1) == first


@pytest.mark.parametrize("options", [{"temperature": 1e-4}, {"top_k": 1}, {"top_p": 1e-4}])
def test_sampling_without_randomness_is_greedy(options):
    model = random_model(0)
    sampler = Sampler(numbers=[1, 2, 3], **options)
    greedy = greedy_search(model, SOURCES, max_length=9)
    assert greedy_search(model, SOURCES, max_length=9, choose=sampler) == greedy


def test_forbidden_tokens_are_not_sampled():
    model = random_model(0, ending=-3.0)
    same = SOURCE.select(torch.zeros(50, dtype=torch.long))
    sampler = Sampler(numbers=range(50), temperature=5.0)
    results = greedy_search(model, same, max_length=20, choose=sampler, rules=[forbid_tokens(6, 7)])
    tokens = {i for h in results for i in h.ids}
    assert 5 in tokens
    assert not tokens & {6, 7}


def test_a_token_of_probability_zero_is_never_sampled(monkeypatch):
    scores = torch.full((4, 7), -math.inf).index_fill(1, torch.tensor([1, 4]), 0.0)
    random = torch.tensor([0.0, 0.4999, 0.5, 1 - 2**-24]).unsqueeze(1).expand(4, 64)
    monkeypatch.setattr(sampling, "uniform", lambda *arguments: random)
    sampled = Sampler(numbers=range(4))(scores, torch.arange(4), 1)
    assert sampled.tolist() == [1, 1, 4, 4]


def test_the_lowest_temperature_samples_the_best_token():
    sampler = Sampler(numbers=[1], temperature=settings_of(DecodingOptions)["temperature"].low)
    distant = SCORES.unsqueeze(0) - 1e3
    assert sampler.probs(distant).argmax() == SCORES.argmax()
    assert sampler.probs(distant).sum() == 1


class NoDoubles(TorchDispatchMode):
    """A device without double precision: to make such a tensor is an error."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        output = func(*args, **(kwargs or {}))
        for tensor in output if isinstance(output, tuple | list) else (output,):
            assert not isinstance(tensor, torch.Tensor) or tensor.dtype != torch.float64, func
        return output


def test_sampling_and_constraints_need_no_double_precision():
    sampling.uniform.cache_clear()
    with NoDoubles():
        greedy_search(
            random_model(0), SOURCES, max_length=5, choose=Sampler(numbers=[1, 2, 3], top_p=0.9)
        )
        beam_search_with(
            random_model(0), SOURCES, width=4, max_length=5, groups=2, required=[[(6, 7)]] * 3
        )
