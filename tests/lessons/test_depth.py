"""Probes of a deep encoder's layers."""

from dataclasses import replace

import pytest
import torch

from dhyan.faults import Fault
from dhyan.lessons.sequences.depth import FUTURE, PAST, PRESENT, Depth, depth, tense_of
from dhyan.lessons.sequences.probes import Fact, probe


def told(shown, lang="en"):
    return " ".join(shown.text(lang).split())


WORD = Fact("word", "शब्द", True, 0.1, 1000, (1.0, 0.9, 0.5))
TENSE = Fact("tense", "काल", False, 0.4, 1000, (0.4, 0.5, 0.7))


def test_a_probe_finds_what_a_linear_map_can_and_nothing_in_noise():
    torch.manual_seed(0)
    states, answers = torch.randn(600, 8), torch.randint(3, (600,)) + 5
    shown = states.clone()
    shown[:, :3] += 6 * torch.nn.functional.one_hot(answers - 5)
    assert probe((shown[:300], answers[:300]), (shown[300:], answers[300:])) > 0.99
    assert probe((states[:300], answers[:300]), (states[300:], answers[300:])) < 0.5


def test_the_last_word_tells_the_tense():
    assert tense_of("वह खाना खाता है।") == PRESENT
    assert tense_of("वह घर गया था।") == PAST
    assert tense_of("राम ने सेब खाया।") == PAST
    assert tense_of("क्या वह कल आएगी?") == FUTURE
    assert tense_of("अंदर आओ।") is None


def test_the_verdict_follows_the_numbers():
    shown = Depth((WORD, TENSE), 2, 10, 1.0, 30.0)
    assert "hold the words holds" in told(shown)
    assert "hold the sentence holds" in told(shown)
    flat = replace(TENSE, shares=(0.4, 0.5, 0.51))
    assert "no clear change" in told(Depth((WORD, flat), 2, 10, 1.0, 30.0))
    risen = replace(WORD, shares=(1.0, 0.5, 0.9))
    turned = Depth((risen, TENSE), 2, 10, 1.0, 30.0)
    assert "hold the words does not hold for each" in told(turned)
    assert "“निचली परतों में शब्द” का दावा इन सब पर सही नहीं है" in told(turned, "hi")


@pytest.mark.slow
def test_every_layer_is_asked_and_the_embedding_knows_its_word():
    shown = depth(layers=2, steps=2, width=24, pairs=200, sentences=150)
    assert [one.english for one in shown.facts] == ["word", "word before", "tense", "question"]
    assert all(len(one.shares) == 3 for one in shown.facts)
    assert shown.facts[0].shares[0] > 0.95
    assert all(0 <= share <= 1 for one in shown.facts for share in one.shares)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layers": 1}, "layers is 1: give a whole number of at least 2"),
        ({"sentences": 5}, "sentences is 5: give a whole number of at least 100"),
        ({"steps": 0}, "steps is 0"),
    ],
)
def test_what_does_not_fit_is_refused(given, message):
    with pytest.raises(Fault, match=message):
        depth(**given)
