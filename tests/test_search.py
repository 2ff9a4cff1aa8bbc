"""Search against exhaustive comparison, and its promises about limits and rules."""

import itertools

import pytest
import torch

from dhyan.batch import Batch, Tokens
from dhyan.decoding.rules import never
from dhyan.decoding.search import beam_search, greedy_search
from dhyan.special import BOS, EOS, PAD
from tests.laws.family import VOCABULARY, build

WORDS = [i for i in range(VOCABULARY) if i not in (PAD, BOS, EOS)]
SOURCE = Tokens.pad([[5, 9, 4, EOS]])


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
    [found] = beam_search(model, SOURCE, width=1500, limit=3, length_power=power)
    ended = [h for h in found if h.finished]
    assert [h.ids for h in ended[:50]] == [words for _, words in best[:50]]
    assert [h.score for h in ended[:50]] == pytest.approx([s for s, _ in best[:50]], abs=1e-4)
    assert len({h.ids for h in found}) == len(found)


def slow_beam(model, width, limit, power):
    """Beam search written out: one hypothesis at a time, in plain Python."""
    going, ended = [(0.0, (BOS,))], []
    for length in range(1, limit + 1):
        grown = []
        for total, said in going:
            with torch.no_grad():
                ids = torch.tensor([[*said, EOS]])
                chances = model(Batch(SOURCE, Tokens(ids, ids >= 0)))[0, -1]
                chances = chances.log_softmax(-1).tolist()
            words = [w for w in range(VOCABULARY) if w not in (PAD, BOS)]
            grown += [(total + chances[w], (*said, w)) for w in words]
        grown.sort(reverse=True)
        ended += [(t / length**power, s) for t, s in grown[:width] if s[-1] == EOS]
        ended = sorted(ended, reverse=True)[:width]
        going = [(t, s) for t, s in grown[: 2 * width] if s[-1] != EOS][:width]
        if len(ended) == width and going[0][0] / length**power <= ended[-1][0]:
            return ended
    return ended + [(t / limit**power, s) for t, s in going][: width - len(ended)]


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_beam_is_the_one_written_out(width, power, seed):
    torch.manual_seed(seed)
    model = build("gru", "luong-general").eval()
    with torch.no_grad():
        model.decoder.output.bias[EOS] += 1.0
        for weight in model.parameters():
            weight *= 2.0
    [found] = beam_search(model, SOURCE, width=width, limit=7, length_power=power)
    wanted = slow_beam(model, width, 7, power)
    assert [(BOS, *h.ids, *([EOS] if h.finished else [])) for h in found] == [s for _, s in wanted]
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


def test_what_the_limit_cuts_is_marked_unfinished():
    source = Tokens.pad([[4, EOS], [4, 5, 6, EOS]])
    limits = torch.tensor([2, 5])
    for found in (
        greedy_search(Parrot(7), source, limit=limits),
        [beam[0] for beam in beam_search(Parrot(7), source, width=1, limit=limits)],
    ):
        assert [h.ids for h in found] == [(7,) * 2, (7,) * 5]
        assert not any(h.finished for h in found)


def test_nothing_said_is_a_whole_translation():
    [found] = greedy_search(Parrot(EOS), SOURCE, limit=5)
    assert found.ids == ()
    assert found.finished


def test_marks_are_never_said_and_rules_are_kept():
    for word in (PAD, BOS):
        [found] = greedy_search(Parrot(word), SOURCE, limit=3)
        assert word not in found.ids
    [found] = greedy_search(Parrot(7), SOURCE, limit=3, rules=[never(7)])
    assert 7 not in found.ids
    [beam] = beam_search(Parrot(7), SOURCE, width=3, limit=3, rules=[never(7)])
    assert all(7 not in h.ids for h in beam)


def test_the_best_come_first():
    torch.manual_seed(0)
    model = build("gru", "luong-dot").eval()
    [beam] = beam_search(model, SOURCE, width=6, limit=8, length_power=1.0)
    whole = [h.score for h in beam if h.finished]
    assert whole == sorted(whole, reverse=True)
    assert [h.finished for h in beam] == sorted((h.finished for h in beam), reverse=True)
