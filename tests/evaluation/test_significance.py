"""Intervals hold the score, equals do not differ, and a clearly better system does."""

import random

import numpy as np
import pytest

from dhyan.errors import UserError
from dhyan.evaluation.metrics import count
from dhyan.evaluation.significance import (
    Resampling,
    bootstrap_scores,
    interval,
    paired_bootstrap,
    randomisation,
    score_system,
)

WORDS = "घर पानी लड़की किताब जाता है। मैं तुम सुंदर नदी आज कल".split()
METRICS = ["bleu", "chrf", "ter"]


def with_random_words(texts, share, seed):
    """Texts with a share of their words replaced."""
    generator = random.Random(seed)
    return [
        " ".join(w if generator.random() > share else generator.choice(WORDS) for w in text.split())
        for text in texts
    ]


REFERENCES = with_random_words([" ".join(["घर"] * (4 + n % 9)) for n in range(60)], 1.0, seed=0)


@pytest.fixture(scope="module")
def systems():
    """Three systems: two as good as each other, and one that is better."""
    shares = {"one": 0.4, "equal": 0.4, "better": 0.1}
    return {
        name: count(with_random_words(REFERENCES, share, seed), REFERENCES, language="hi")
        for seed, (name, share) in enumerate(shares.items(), 1)
    }


TESTS = [paired_bootstrap, randomisation]


@pytest.mark.parametrize("key", METRICS)
def test_an_interval_contains_the_score(systems, key):
    counts = systems["one"][key]
    confidence = interval(counts, resamples=200)
    assert confidence.low < counts.value() < confidence.high
    assert confidence.margin == pytest.approx((confidence.high - confidence.low) / 2)
    assert confidence.low < confidence.mean < confidence.high


def test_an_interval_narrows_with_the_number_of_sentences(systems):
    counts = systems["one"]["chrf"]
    few = count(with_random_words(REFERENCES[:10], 0.4, 1), REFERENCES[:10], language="hi")["chrf"]
    assert interval(counts, resamples=200).margin < interval(few, resamples=200).margin


def test_equal_sentences_have_an_interval_of_width_zero():
    confidence = interval(
        count(["घर पानी"] * 5, ["घर नदी"] * 5, language="hi")["chrf"], resamples=50
    )
    assert confidence.margin == 0


@pytest.mark.parametrize("compare", TESTS)
@pytest.mark.parametrize("key", METRICS)
def test_a_system_compared_with_itself_has_p_one(systems, compare, key):
    difference = compare(systems["one"][key], systems["one"][key])
    assert (difference.value, difference.p) == (0, 1)


@pytest.mark.parametrize("compare", TESTS)
@pytest.mark.parametrize("key", METRICS)
def test_equally_good_systems_do_not_differ_significantly(systems, compare, key):
    assert compare(systems["one"][key], systems["equal"][key]).p > 0.1


@pytest.mark.parametrize("compare", TESTS)
@pytest.mark.parametrize("key", METRICS)
def test_a_clearly_better_system_differs_significantly(systems, compare, key):
    baseline, better = systems["one"][key], systems["better"][key]
    there, back = compare(baseline, better), compare(better, baseline)
    assert there.p == back.p < 0.05
    assert there.value == -back.value
    assert (there.value < 0) == (key == "ter")


@pytest.mark.parametrize("compare", TESTS)
def test_resampling_follows_the_seed(systems, compare):
    pair = systems["one"]["bleu"], systems["equal"]["bleu"]
    assert compare(*pair, seed=7) == compare(*pair, seed=7)
    assert len({compare(*pair, seed=seed).p for seed in range(4)}) > 1


def test_the_chunk_size_of_resampling_changes_nothing(systems, monkeypatch):
    counts, pair = systems["one"]["chrf"], (systems["one"]["bleu"], systems["equal"]["bleu"])
    scores, apart = bootstrap_scores(counts, resamples=50, seed=3), randomisation(*pair, trials=50)
    monkeypatch.setattr("dhyan.evaluation.significance.CHUNK", 7 * counts.sentences)
    assert np.array_equal(bootstrap_scores(counts, resamples=50, seed=3), scores)
    assert randomisation(*pair, trials=50) == apart


def test_randomisation_works_in_chunks(systems, monkeypatch):
    pair, sizes = (systems["one"]["bleu"], systems["equal"]["bleu"]), []
    values = type(pair[0]).values
    monkeypatch.setattr(
        type(pair[0]), "values", lambda self, part: sizes.append(part.size) or values(self, part)
    )
    monkeypatch.setattr("dhyan.evaluation.significance.CHUNK", 64 * 60)
    randomisation(*pair, trials=1000)
    assert len(sizes) == 2 * 16
    assert max(sizes) == 2 * 64 * 60


def test_too_few_resamples_or_sentences_are_errors(systems):
    alone = count(["घर"], ["घर"])["bleu"]
    with pytest.raises(UserError, match="one sentence cannot be resampled"):
        interval(alone)
    with pytest.raises(UserError, match="1 resamples: draw at least two"):
        interval(systems["one"]["bleu"], resamples=1)
    for compare in TESTS:
        with pytest.raises(UserError, match="60 sentences against 1"):
            compare(alone, systems["one"]["bleu"])


def test_system_scores_have_the_requested_parts(systems):
    bare = score_system(systems["one"], resampling=Resampling(resamples=0))
    assert not bare.intervals
    assert not bare.differences
    assert "seed" not in bare.scores["bleu"].signature
    alone = score_system(systems["one"], resampling=Resampling(resamples=20, seed=3))
    assert set(alone.intervals) == set(METRICS)
    assert not alone.differences
    assert "bs:20|seed:3" in alone.scores["ter"].signature


def test_the_signature_says_how_systems_were_compared(systems):
    drawing = Resampling(resamples=20, seed=3, test="randomisation")
    both = score_system(systems["one"], baseline=systems["better"], resampling=drawing)
    assert set(both.differences) == set(METRICS)
    assert "bs:20|ar:200|seed:3" in both.scores["bleu"].signature
