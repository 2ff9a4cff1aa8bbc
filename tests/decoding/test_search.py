"""Search against exhaustive comparison, and its promises about limits and rules."""

import itertools
import math

import pytest
import torch

from dhyan.batch import Batch, Tokens
from dhyan.decoding.rules import forbid_tokens, force_prefix, no_repeat_ngram
from dhyan.decoding.sampling import Sampler
from dhyan.decoding.search import beam_search, best_token, greedy_search
from dhyan.special_tokens import BOS, EOS, PAD
from tests import reference_loops as written_out
from tests.laws.family import VOCABULARY, build
from tests.reference_loops import SOURCE, SOURCES, lively, searched

WORDS = [i for i in range(VOCABULARY) if i not in (PAD, BOS, EOS)]


def every_translation(model, longest, power):
    """Score every whole sentence of up to `longest` tokens, EOS counted."""
    scored = []
    for length in range(longest):
        for words in itertools.product(WORDS, repeat=length):
            ids = torch.tensor([[BOS, *words, EOS]])
            with torch.no_grad():
                chances = model(Batch(SOURCE, Tokens(ids, ids >= 0))).log_softmax(-1)[0]
            total = sum(float(chances[t, w]) for t, w in enumerate([*words, EOS]))
            scored.append((total / (length + 1) ** power, words))
    return sorted(scored, reverse=True)


@pytest.mark.parametrize("power", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("kind", [("gru", "bahdanau-additive"), ("transformer", "transformer")])
def test_a_beam_wide_enough_finds_the_best_of_all(kind, power):
    torch.manual_seed(3)
    model = build(*kind).eval()
    best = every_translation(model, 3, power)
    [found] = beam_search(model, SOURCE, beam=1500, max_length=3, length_penalty=power)
    ended = [h for h in found if h.finished]
    assert [h.ids for h in ended[:50]] == [words for _, words in best[:50]]
    assert [h.score for h in ended[:50]] == pytest.approx([s for s, _ in best[:50]], abs=1e-4)
    assert len({h.ids for h in found}) == len(found)


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_a_narrow_beam_is_the_one_written_out(width, power, seed):
    model = lively(seed)
    [found] = beam_search(model, SOURCE, beam=width, max_length=7, length_penalty=power)
    wanted = written_out.beam(model, width, 7, power)
    assert [written_out.written(h) for h in found] == [s for _, s in wanted]
    assert [h.score for h in found] == pytest.approx([t for t, _ in wanted], abs=1e-4)


class Parrot:
    """Says the same word for ever, or ends at once, whatever the source."""

    def __init__(self, word):
        self.word = word

    def start(self, source):
        return self

    def select(self, rows):
        return self

    def step(self, ids, state):
        logits = torch.full((len(ids), VOCABULARY), -20.0)
        logits[:, self.word] = 0.0
        return logits, state


class Broken:
    """Likes every word alike but the end, and gives no numbers after so many steps."""

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


def test_what_the_limit_cuts_is_marked_unfinished():
    source = Tokens.pad([[4, EOS], [4, 5, 6, EOS]])
    limits = torch.tensor([2, 5])
    for found in (
        greedy_search(Parrot(7), source, max_length=limits),
        [beam[0] for beam in beam_search(Parrot(7), source, beam=1, max_length=limits)],
    ):
        assert [h.ids for h in found] == [(7,) * 2, (7,) * 5]
        assert not any(h.finished for h in found)


def test_nothing_said_is_a_whole_translation():
    [found] = greedy_search(Parrot(EOS), SOURCE, max_length=5)
    assert found.ids == ()
    assert found.finished


def test_marks_are_never_said_and_rules_are_kept():
    for word in (PAD, BOS):
        [found] = greedy_search(Parrot(word), SOURCE, max_length=3)
        assert word not in found.ids
    [found] = greedy_search(Parrot(7), SOURCE, max_length=3, rules=[forbid_tokens(7)])
    assert 7 not in found.ids
    [beam] = beam_search(Parrot(7), SOURCE, beam=3, max_length=3, rules=[forbid_tokens(7)])
    assert all(7 not in h.ids for h in beam)


def test_the_best_come_first():
    torch.manual_seed(0)
    model = build("gru", "luong-dot").eval()
    [beam] = beam_search(model, SOURCE, beam=6, max_length=8, length_penalty=1.0)
    whole = [h.score for h in beam if h.finished]
    assert whole == sorted(whole, reverse=True)
    assert [h.finished for h in beam] == sorted((h.finished for h in beam), reverse=True)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_score_is_the_log_probability_by_length_however_words_are_chosen(power):
    model = lively(1)

    def second_best(scores, sentence, length):
        return scores.topk(2, dim=1).indices[:, 1]

    for choose in (best_token, second_best):
        [found] = greedy_search(model, SOURCE, max_length=6, length_penalty=power, choose=choose)
        said = written_out.written(found)
        steps = [written_out.chances(model, said[:n])[0][said[n]] for n in range(1, len(said))]
        assert found.score == pytest.approx(sum(steps) / len(steps) ** power, abs=1e-4)


def test_a_choice_is_told_the_sentence_and_the_place():
    told = []

    def choose(scores, sentence, length):
        told.append((sentence.tolist(), length))
        return torch.where(sentence == length - 1, EOS, 7)

    found = greedy_search(Parrot(7), SOURCES, max_length=5, choose=choose)
    assert told == [([0, 1, 2], 1), ([1, 2], 2), ([2], 3)]
    assert [h.ids for h in found] == [(), (7,), (7, 7)]


@pytest.mark.parametrize("options", [{}, {"groups": 2, "diversity": 0.7}])
def test_rules_know_their_sentence_when_others_leave_the_batch(options):
    model = lively(2)
    limits = torch.tensor([3, 9, 6])
    prefixes = [[6], [8, 8, 4], [10, 5]]
    search = {"width": 4, "length_penalty": 1.0, **options}
    together = searched(
        model,
        SOURCES,
        max_length=limits,
        rules=[force_prefix(prefixes), no_repeat_ngram(1)],
        **search,
    )
    for row, own in enumerate(together):
        rules = [force_prefix([prefixes[row]]), no_repeat_ngram(1)]
        source = SOURCES.select(torch.tensor([row]))
        [alone] = searched(model, source, max_length=limits[row : row + 1], rules=rules, **search)
        assert [h.ids for h in own] == [h.ids for h in alone]
        assert [h.score for h in own] == pytest.approx([h.score for h in alone], abs=1e-4)


def silence(after):
    """A rule that leaves no word at all after so many."""

    def rule(said, scores, sentence):
        return scores if said.shape[1] <= after else torch.full_like(scores, -torch.inf)

    return rule


WAYS = {
    "greedy": lambda *given, **how: [[one] for one in greedy_search(*given, **how)],
    "drawn": lambda *given, **how: [
        [one] for one in greedy_search(*given, choose=Sampler(numbers=[1, 2, 3], seed=2), **how)
    ],
    "beam": lambda *given, **how: beam_search(*given, beam=4, **how),
    "groups": lambda *given, **how: searched(*given, width=4, groups=2, diversity=0.5, **how),
    "phrases": lambda *given, **how: searched(*given, width=4, required=[[(6, 7)]] * 3, **how),
}


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_where_the_rules_leave_no_word_a_sentence_stops_with_what_it_has(way, power):
    model = lively(1, ending=-20.0)
    found = way(model, SOURCES, max_length=9, length_penalty=power, rules=[silence(after=3)])
    for own in found:
        assert own
        for one in own:
            assert len(one.ids) == 3
            assert not one.finished
            assert -100 < one.score < 0
    for own in way(model, SOURCES, max_length=9, length_penalty=power, rules=[silence(after=0)]):
        assert [(one.ids, one.score, one.finished) for one in own] == [((), 0.0, False)]


def test_where_no_word_is_left_none_is_said_however_words_are_chosen():
    def choose(scores, sentence, length):
        return torch.full_like(sentence, 7)

    found = greedy_search(Parrot(7), SOURCES, max_length=9, rules=[silence(after=2)], choose=choose)
    assert [(one.ids, one.finished) for one in found] == [((7, 7), False)] * 3


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_of_what_ended_before_nothing_is_lost(way):
    model = lively(1, ending=20.0)
    for own in way(model, SOURCES, max_length=9, rules=[silence(after=4)]):
        assert any(one.finished for one in own)
        assert all(math.isfinite(one.score) for one in own)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_model_without_numbers_is_told_from_rules_without_words(way):
    """Its hypotheses are none, or score −∞; what the rules stop has a score."""
    for after in (0, 2, 4):
        for own in way(Broken(after), SOURCES, max_length=5):
            assert not any(math.isfinite(one.score) for one in own)
