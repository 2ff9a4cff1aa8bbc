"""Rules against naive checks, one row at a time, and under search."""

import pytest
import torch

from dhyan.decoding.rules import at_least, begin_with, never, never_say, no_repeat
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.special import BOS, EOS, PAD
from tests.laws.family import VOCABULARY
from tests.written_out import SOURCE, SOURCES, contains, lively

ROWS = 40


def talk(length, words=4):
    """Rows that have said so many words of a few, BOS first, and scores of the next."""
    generator = torch.Generator().manual_seed(length)
    said = torch.randint(4, 4 + words, (ROWS, length), generator=generator)
    said = torch.cat([torch.full((ROWS, 1), BOS), said], dim=1)
    scores = torch.randn(ROWS, VOCABULARY, generator=generator)
    return said, scores, torch.arange(ROWS) % 3


def silenced(rule, said, scores, sentence):
    """The words each row may not say, PAD aside; all other scores must be as they were."""
    left = rule(said, scores, sentence)
    gone = left == -torch.inf
    assert torch.equal(left[~gone], scores[~gone])
    return [set(row.nonzero().flatten().tolist()) - {PAD} for row in gone]


@pytest.mark.parametrize("length", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_no_repeat_is_the_naive_check(size, length):
    said, scores, sentence = talk(length)
    found = silenced(no_repeat(size), said, scores, sentence)
    for row, gone in zip(said.tolist(), found, strict=True):
        heard = {tuple(row[i : i + size]) for i in range(1, len(row) - size + 1)}
        again = {w for w in range(4, VOCABULARY) if (*row[1:], w)[-size:] in heard}
        assert gone - {BOS} == again


@pytest.mark.parametrize("length", [0, 1, 2, 6])
def test_forbidden_phrases_are_the_naive_check(length):
    phrases = [(4,), (5, 6), (7, 7), (6, 5, 4), (5, 6, 7), (9, 9, 9, 9)]
    said, scores, sentence = talk(length)
    found = silenced(never_say(phrases), said, scores, sentence)
    for row, gone in zip(said.tolist(), found, strict=True):
        assert gone == {p[-1] for p in phrases if tuple([*row, p[-1]][-len(p) :]) == p}


@pytest.mark.parametrize("length", range(5))
def test_a_prefix_leaves_its_own_word_and_then_all(length):
    prefixes = [[6, 7, 8], [], [9]]
    said, scores, sentence = talk(length)
    found = silenced(begin_with(prefixes), said, scores, sentence)
    everything = set(range(VOCABULARY)) - {PAD}
    for which, gone in zip(sentence.tolist(), found, strict=True):
        forced = prefixes[which][length : length + 1]
        assert gone == (everything - set(forced) if forced else set())


@pytest.mark.parametrize("length", range(6))
def test_no_end_before_so_many_tokens(length):
    said, scores, sentence = talk(length)
    early = length < 3
    assert silenced(at_least(3), said, scores, sentence) == [{EOS} if early else set()] * ROWS


def searches(model, **options):
    """All that greedy and beam search find for three sentences of different limits."""
    limit = torch.tensor([5, 12, 9])
    yield [[one] for one in greedy_search(model, SOURCES, limit=limit, **options)]
    yield beam_search(model, SOURCES, width=4, limit=limit, **options)
    yield beam_search(model, SOURCES, width=4, limit=limit, groups=2, diversity=0.5, **options)


def test_a_translation_has_its_least_length():
    model = lively(0, ending=20.0)
    for found in searches(model, rules=[at_least(4)]):
        assert all(len(h.ids) == 4 for own in found for h in own if h.finished)
        assert any(h.finished for own in found for h in own)


@pytest.mark.parametrize("size", [1, 2])
def test_nothing_found_repeats_itself(size):
    model = lively(1, ending=-20.0)
    for found in searches(model, rules=[no_repeat(size)]):
        for one in (h for own in found for h in own):
            runs = [one.ids[i : i + size] for i in range(len(one.ids) - size + 1)]
            assert len(set(runs)) == len(runs)


def test_nothing_found_holds_a_forbidden_phrase():
    model = lively(1, ending=-20.0)
    [free] = beam_search(model, SOURCE, width=4, limit=9)
    phrases = [free[0].ids[1:3], free[0].ids[4:7]]
    for found in searches(model, rules=[never_say(phrases)]):
        assert not any(contains(h.ids, p) for own in found for h in own for p in phrases)


def test_every_sentence_begins_with_its_prefix_and_then_goes_on():
    prefixes = [(6, 7), (), (12, 11, 10, 9)]
    free = list(searches(lively(2)))
    for found, before in zip(searches(lively(2), rules=[begin_with(prefixes)]), free, strict=True):
        for prefix, own in zip(prefixes, found, strict=True):
            assert own
            assert all(h.ids[: len(prefix)] == prefix for h in own)
        assert [h.ids for h in found[1]] == [h.ids for h in before[1]]


def test_a_prefix_that_is_what_would_be_said_changes_nothing():
    model = lively(3)
    free = greedy_search(model, SOURCES, limit=9)
    prefixes = [h.ids[:2] for h in free]
    assert greedy_search(model, SOURCES, limit=9, rules=[begin_with(prefixes)]) == free


def test_rules_add_up():
    said, scores, sentence = talk(3)
    for rule in (never(5, 6), at_least(9), no_repeat(1)):
        scores = rule(said, scores, sentence)
    gone = scores == -torch.inf
    assert gone[:, [5, 6, EOS]].all()
    assert gone.gather(1, said).all()


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="0 tokens in a row"):
        no_repeat(0)
    with pytest.raises(ValueError, match="has no tokens"):
        never_say([(4, 5), ()])
