"""Probes of a deep encoder's layers."""

from dataclasses import replace

import pytest
import torch

from dhyan.faults import Fault
from dhyan.lessons.sequences.depth import FUTURE, PAST, PRESENT, Depth, depth, tense_of
from dhyan.lessons.sequences.probes import Fact, probe


def told(shown, lang="en"):
    return " ".join(shown.text(lang).split())


WORD = Fact("word", "शब्द", True, 0.1, 1000, ((1.0, 0.9, 0.5),))
TENSE = Fact("tense", "काल", False, 0.4, 1000, ((0.4, 0.5, 0.7),))


def shown_of(*facts, seeds=(1,)):
    return Depth(facts, 2, 10, seeds, (1.0,) * len(seeds), (30.0,) * len(seeds))


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
    shown = shown_of(WORD, TENSE)
    assert "hold the words holds" in told(shown)
    assert "hold the sentence holds" in told(shown)
    flat = replace(TENSE, runs=((0.4, 0.5, 0.51),))
    assert "no clear change" in told(shown_of(WORD, flat))
    risen = replace(WORD, runs=((1.0, 0.5, 0.9),))
    turned = shown_of(risen, TENSE)
    assert "hold the words does not hold for each" in told(turned)
    assert "“निचली परतों में शब्द” का दावा इन" in told(turned, "hi")


def test_one_training_is_said_to_be_one():
    assert "another seed may turn out otherwise" in told(shown_of(WORD))
    assert "दूसरे बीज" in told(shown_of(WORD), "hi")
    several = replace(WORD, runs=WORD.runs * 3)
    assert "another seed" not in told(shown_of(several, seeds=(1, 2, 3)))
    assert "from 3 seeds (loss 1.00, chrF++ 30.0)" in told(shown_of(several, seeds=(1, 2, 3)))


def test_models_that_learned_little_are_said_to_have():
    assert "leaves much unlearned" not in told(shown_of(WORD))
    little = replace(shown_of(WORD), chrfs=(9.0,))
    assert "leaves much unlearned" in told(little)
    assert "अनसीखा" in told(little, "hi")


def test_a_change_is_clear_only_if_the_trainings_agree_on_it():
    agreed = replace(TENSE, runs=((0.4, 0.50, 0.6), (0.4, 0.52, 0.63), (0.4, 0.48, 0.57)))
    assert agreed.shares == pytest.approx((0.4, 0.5, 0.6))
    assert agreed.change == pytest.approx(0.1)
    assert agreed.margin == pytest.approx(4.30 * 0.01 / 3**0.5)
    assert agreed.clear
    assert (agreed.lows[2], agreed.highs[2]) == (0.57, 0.63)
    torn = replace(TENSE, runs=((0.4, 0.5, 0.8), (0.4, 0.5, 0.45), (0.4, 0.5, 0.55)))
    assert torn.change == pytest.approx(0.1)
    assert not torn.clear
    assert not torn.as_claimed


@pytest.mark.slow
def test_every_layer_is_asked_and_the_embedding_knows_its_word():
    shown = depth(layers=2, steps=2, width=24, pairs=200, sentences=150, seeds=[1, 2])
    assert [one.english for one in shown.facts] == ["word", "word before", "tense", "question"]
    assert all(len(one.shares) == 3 for one in shown.facts)
    assert shown.facts[0].shares[0] > 0.95
    assert all(len(one.runs) == 2 for one in shown.facts)
    assert all(0 <= share <= 1 for one in shown.facts for share in one.shares)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layers": 1}, "layers is 1: give a whole number of at least 2"),
        ({"sentences": 5}, "sentences is 5: give a whole number of at least 100"),
        ({"steps": 0}, "steps is 0"),
        ({"seeds": []}, "seeds: give at least one whole number in a list"),
    ],
)
def test_what_does_not_fit_is_refused(given, message):
    with pytest.raises(Fault, match=message):
        depth(**given)
