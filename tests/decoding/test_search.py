"""Greedy and beam search against exhaustive search, with maximum lengths and rules."""

import itertools
import math

import pytest
import torch

from dhyan.batch import Batch, Tokens
from dhyan.decoding.rules import forbid_tokens, force_prefix, no_repeat_ngram
from dhyan.decoding.sampling import Sampler
from dhyan.decoding.search import beam_search, best_token, greedy_search
from dhyan.special_tokens import BOS, EOS, PAD
from tests.decoding import reference_search
from tests.decoding.reference_search import SOURCE, SOURCES, beam_search_with, random_model
from tests.laws.family import VOCABULARY, build

TOKENS = [i for i in range(VOCABULARY) if i not in (PAD, BOS, EOS)]


def every_translation(model, max_length, power):
    """Score every finished translation of up to `longest` tokens, EOS counted."""
    scored = []
    for length in range(max_length):
        for tokens in itertools.product(TOKENS, repeat=length):
            ids = torch.tensor([[BOS, *tokens, EOS]])
            with torch.no_grad():
                logprobs = model(Batch(SOURCE, Tokens(ids, ids >= 0))).log_softmax(-1)[0]
            total = sum(float(logprobs[t, w]) for t, w in enumerate([*tokens, EOS]))
            scored.append((total / (length + 1) ** power, tokens))
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("power", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("pair", [("gru", "bahdanau-additive"), ("transformer", "transformer")])
def test_a_wide_beam_finds_the_best_translations(pair, power):
    torch.manual_seed(3)
    model = build(*pair).eval()
    best = every_translation(model, 3, power)
    [results] = beam_search(model, SOURCE, beam=1500, max_length=3, length_penalty=power)
    finished = [h for h in results if h.finished]
    assert [h.ids for h in finished[:50]] == [tokens for _, tokens in best[:50]]
    assert [h.score for h in finished[:50]] == pytest.approx([s for s, _ in best[:50]], abs=1e-4)
    assert len({h.ids for h in results}) == len(results)


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_beam_search_equals_the_reference(width, power, seed):
    model = random_model(seed)
    [results] = beam_search(model, SOURCE, beam=width, max_length=7, length_penalty=power)
    expected = reference_search.beam(model, width, 7, power)
    assert [reference_search.with_bos_and_eos(h) for h in results] == [s for _, s in expected]
    assert [h.score for h in results] == pytest.approx([t for t, _ in expected], abs=1e-4)


class RepeatToken:
    """A model that always outputs the same token."""

    def __init__(self, token):
        self.token = token

    def start(self, source):
        return self

    def select(self, rows):
        return self

    def step(self, ids, state):
        logits = torch.full((len(ids), VOCABULARY), -20.0)
        logits[:, self.token] = 0.0
        return logits, state


class NanAfter:
    """A uniform model whose logits are NaN after so many steps."""

    def __init__(self, after):
        self.left = after

    def start(self, source):
        return self

    def select(self, rows):
        return self

    def step(self, ids, state):
        self.left -= 1
        logits = torch.full((len(ids), VOCABULARY), 0.0 if self.left >= 0 else torch.nan)
        return logits.index_fill(1, torch.tensor([EOS]), -20.0), state


def test_a_hypothesis_at_the_maximum_length_is_unfinished():
    source = Tokens.pad([[4, EOS], [4, 5, 6, EOS]])
    max_lengths = torch.tensor([2, 5])
    for results in (
        greedy_search(RepeatToken(7), source, max_length=max_lengths),
        [beam[0] for beam in beam_search(RepeatToken(7), source, beam=1, max_length=max_lengths)],
    ):
        assert [h.ids for h in results] == [(7,) * 2, (7,) * 5]
        assert not any(h.finished for h in results)


def test_an_empty_hypothesis_can_be_finished():
    [results] = greedy_search(RepeatToken(EOS), SOURCE, max_length=5)
    assert results.ids == ()
    assert results.finished


def test_special_tokens_and_forbidden_tokens_never_occur():
    for token in (PAD, BOS):
        [results] = greedy_search(RepeatToken(token), SOURCE, max_length=3)
        assert token not in results.ids
    [results] = greedy_search(RepeatToken(7), SOURCE, max_length=3, rules=[forbid_tokens(7)])
    assert 7 not in results.ids
    [beam] = beam_search(RepeatToken(7), SOURCE, beam=3, max_length=3, rules=[forbid_tokens(7)])
    assert all(7 not in h.ids for h in beam)


def test_hypotheses_are_sorted_finished_ones_first():
    torch.manual_seed(0)
    model = build("gru", "luong-dot").eval()
    [beam] = beam_search(model, SOURCE, beam=6, max_length=8, length_penalty=1.0)
    finished_scores = [h.score for h in beam if h.finished]
    assert finished_scores == sorted(finished_scores, reverse=True)
    assert [h.finished for h in beam] == sorted((h.finished for h in beam), reverse=True)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_the_score_is_the_log_probability_by_length(power):
    model = random_model(1)

    def second_best(scores, sentence, length):
        return scores.topk(2, dim=1).indices[:, 1]

    for choose in (best_token, second_best):
        [results] = greedy_search(model, SOURCE, max_length=6, length_penalty=power, choose=choose)
        ids = reference_search.with_bos_and_eos(results)
        steps = [
            reference_search.next_logprobs(model, ids[:n])[0][ids[n]] for n in range(1, len(ids))
        ]
        assert results.score == pytest.approx(sum(steps) / len(steps) ** power, abs=1e-4)


def test_a_token_choice_gets_sentence_and_position():
    calls = []

    def choose(scores, sentence, length):
        calls.append((sentence.tolist(), length))
        return torch.where(sentence == length - 1, EOS, 7)

    results = greedy_search(RepeatToken(7), SOURCES, max_length=5, choose=choose)
    assert calls == [([0, 1, 2], 1), ([1, 2], 2), ([2], 3)]
    assert [h.ids for h in results] == [(), (7,), (7, 7)]


@pytest.mark.parametrize("options", [{}, {"groups": 2, "diversity": 0.7}])
def test_rules_follow_their_sentence_when_others_finish(options):
    model = random_model(2)
    max_lengths = torch.tensor([3, 9, 6])
    prefixes = [[6], [8, 8, 4], [10, 5]]
    settings = {"width": 4, "length_penalty": 1.0, **options}
    batched = beam_search_with(
        model,
        SOURCES,
        max_length=max_lengths,
        rules=[force_prefix(prefixes), no_repeat_ngram(1)],
        **settings,
    )
    for row, hypotheses in enumerate(batched):
        rules = [force_prefix([prefixes[row]]), no_repeat_ngram(1)]
        source = SOURCES.select(torch.tensor([row]))
        [alone] = beam_search_with(
            model, source, max_length=max_lengths[row : row + 1], rules=rules, **settings
        )
        assert [h.ids for h in hypotheses] == [h.ids for h in alone]
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in alone], abs=1e-4)


def forbid_all(after):
    """A rule that forbids every token after so many."""

    def rule(ids, scores, sentence):
        return scores if ids.shape[1] <= after else torch.full_like(scores, -torch.inf)

    return rule


SEARCHES = {
    "greedy": lambda *arguments, **options: [
        [hypothesis] for hypothesis in greedy_search(*arguments, **options)
    ],
    "drawn": lambda *arguments, **options: [
        [hypothesis]
        for hypothesis in greedy_search(
            *arguments, choose=Sampler(numbers=[1, 2, 3], seed=2), **options
        )
    ],
    "beam": lambda *arguments, **options: beam_search(*arguments, beam=4, **options),
    "groups": lambda *arguments, **options: beam_search_with(
        *arguments, width=4, groups=2, diversity=0.5, **options
    ),
    "phrases": lambda *arguments, **options: beam_search_with(
        *arguments, width=4, required=[[(6, 7)]] * 3, **options
    ),
}


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("search_function", SEARCHES.values(), ids=SEARCHES)
def test_search_stops_unfinished_where_no_token_is_allowed(search_function, power):
    model = random_model(1, ending=-20.0)
    results = search_function(
        model, SOURCES, max_length=9, length_penalty=power, rules=[forbid_all(after=3)]
    )
    for hypotheses in results:
        assert hypotheses
        for hypothesis in hypotheses:
            assert len(hypothesis.ids) == 3
            assert not hypothesis.finished
            assert -100 < hypothesis.score < 0
    for hypotheses in search_function(
        model, SOURCES, max_length=9, length_penalty=power, rules=[forbid_all(after=0)]
    ):
        assert [
            (hypothesis.ids, hypothesis.score, hypothesis.finished) for hypothesis in hypotheses
        ] == [((), 0.0, False)]


def test_no_token_is_chosen_where_none_is_allowed():
    def choose(scores, sentence, length):
        return torch.full_like(sentence, 7)

    results = greedy_search(
        RepeatToken(7), SOURCES, max_length=9, rules=[forbid_all(after=2)], choose=choose
    )
    assert [(hypothesis.ids, hypothesis.finished) for hypothesis in results] == [
        ((7, 7), False)
    ] * 3


@pytest.mark.parametrize("search_function", SEARCHES.values(), ids=SEARCHES)
def test_finished_hypotheses_survive_a_dead_end(search_function):
    model = random_model(1, ending=20.0)
    for hypotheses in search_function(model, SOURCES, max_length=9, rules=[forbid_all(after=4)]):
        assert any(hypothesis.finished for hypothesis in hypotheses)
        assert all(math.isfinite(hypothesis.score) for hypothesis in hypotheses)


@pytest.mark.parametrize("search_function", SEARCHES.values(), ids=SEARCHES)
def test_nan_logits_give_no_finite_score(search_function):
    """There is no hypothesis, or its score is −inf."""
    for after in (0, 2, 4):
        for hypotheses in search_function(NanAfter(after), SOURCES, max_length=5):
            assert not any(math.isfinite(hypothesis.score) for hypothesis in hypotheses)
