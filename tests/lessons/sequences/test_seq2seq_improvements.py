"""Gains of reversal, depth and embeddings, read off reports, and verdicts that follow them."""

import json
from math import sqrt

import pytest

from dhyan.errors import UserError
from dhyan.lessons.sequences.bleu_gain import Gain
from dhyan.lessons.sequences.seq2seq_improvements import (
    EmbeddingScores,
    Improvement,
    Seq2SeqImprovements,
    seq2seq_improvements,
)

LENGTHS = ((1, 10), (11, None))


def model(bleu, shares, *, margin=1.0, language="hi", tokens=1000):
    groups = [
        {"least": low, "most": high, "sentences": 9, "bleu": score, "bleu_low": score - margin,
         "bleu_high": score + margin}
        for (low, high), score in zip(LENGTHS, bleu, strict=True)
    ]  # fmt: skip
    mean = sum(bleu) / 2
    scores = {"value": mean, "interval": {"low": mean - margin, "high": mean + margin}}
    return {
        "parameters": 1_000_000,
        "steps": 100,
        "language": language,
        "positions": {"shares": shares, "tokens": [tokens] * len(shares)},
        "tests": {"random": {"bleu": scores, "by_length": groups}},
    }


FORWARD = model((60, 40), [0.8, 0.7, 0.7, 0.7, 0.8])
REVERSED = model((70, 50), [0.9, 0.7, 0.7, 0.7, 0.7])
DEEP = model((80, 50), [0.9, 0.8, 0.8, 0.8, 0.8])


def write_report(folder, backwards=None, **models):
    named = {f"bottleneck-{name}": model_report for name, model_report in models.items()}
    report = {"main_test": "random", "models": named}
    if backwards:
        reports = {f"bottleneck-{name}": model_report for name, model_report in backwards.items()}
        report["backwards"] = {"main_test": "random", "models": reports}
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return path


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


def test_a_gain_is_what_the_second_model_has_more(tmp_path):
    path = write_report(tmp_path, forward=FORWARD, reversed=REVERSED, deep=DEEP)
    reversal, depth = seq2seq_improvements(path).changes
    assert (reversal.before, reversal.after) == ("bottleneck-forward", "bottleneck-reversed")
    assert (depth.before, depth.after) == ("bottleneck-reversed", "bottleneck-deep")
    assert reversal.gain.value == pytest.approx(10)
    assert [gain.value for gain in reversal.by_length] == pytest.approx([10, 10])
    assert [gain.value for gain in reversal.by_position] == pytest.approx([10, 0, 0, 0, -10])
    assert [gain.value for gain in depth.by_length] == pytest.approx([10, 0])
    assert reversal.lengths == ("1–10", "11+")


def test_the_interval_of_a_difference_is_as_wide_as_both_together(tmp_path):
    path = write_report(tmp_path, forward=FORWARD, reversed=REVERSED)
    [reversal] = seq2seq_improvements(path).changes
    assert reversal.gain.low == pytest.approx(10 - sqrt(2))
    assert reversal.by_length[0].high == pytest.approx(10 + sqrt(2))
    first = reversal.by_position[0]
    assert first.high - first.value == pytest.approx(196 * sqrt((0.16 + 0.09) / 1000))


def test_first_words_that_gain_and_last_that_lose_bear_the_claim_out(tmp_path):
    result = seq2seq_improvements(write_report(tmp_path, forward=FORWARD, reversed=REVERSED))
    assert result.changes[0].as_claimed
    assert "lose accuracy holds with a single training each. BLEU +10.0" in flat_text(result)
    assert "अंतिम शब्दों की घटती है, एक-एक प्रशिक्षण में सही है" in flat_text(result, "hi")
    reversed_result = seq2seq_improvements(
        write_report(tmp_path, forward=REVERSED, reversed=FORWARD)
    )
    assert not reversed_result.changes[0].as_claimed
    assert "lose accuracy does not hold with a single training each. BLEU −10.0" in flat_text(
        reversed_result
    )
    assert ", a loss." in flat_text(reversed_result)
    assert "अंतिम शब्दों की घटती है, एक-एक प्रशिक्षण में सही नहीं है" in flat_text(reversed_result, "hi")


def test_a_difference_within_its_margin_is_no_gain(tmp_path):
    few = model((60.5, 40.5), [0.81, 0.7, 0.7, 0.7, 0.79])
    result = seq2seq_improvements(write_report(tmp_path, forward=FORWARD, reversed=few))
    assert result.changes[0].gain.sign == 0
    assert [gain.sign for gain in result.changes[0].by_position] == [0] * 5
    assert "not significant" in flat_text(result)


def test_depth_is_measured_by_length_and_its_confounds_are_named(tmp_path):
    result = seq2seq_improvements(write_report(tmp_path, reversed=REVERSED, deep=DEEP))
    worse = seq2seq_improvements(write_report(tmp_path, reversed=DEEP, deep=FORWARD))
    assert result.changes[0].gain.sign > 0 > worse.changes[0].gain.sign
    assert "a gain; better at 1–10 words. This does not test the claim" in flat_text(result)
    assert "a loss; better at no length. This does not test the claim" in flat_text(worse)
    assert "the deeper model is also narrower" in flat_text(worse)
    assert "गहरा मॉडल सँकरा भी है" in flat_text(worse, "hi")


def test_a_report_of_both_directions_has_both_gains(tmp_path):
    into = {"forward": model((60, 40), [0.8] * 5, language="en")}
    into["reversed"] = model((60, 40), [0.8] * 5, language="en")
    both = write_report(tmp_path, backwards=into, forward=FORWARD, reversed=REVERSED)
    result = seq2seq_improvements(both)
    assert [change.language for change in result.changes] == ["hi", "en"]
    assert "Reversal, into English: first fifth +0.0" in flat_text(result)
    assert "not in the other holds with a single training of each model" in flat_text(result)
    into["reversed"] = model((70, 50), [0.8] * 5, language="en")
    alike = write_report(tmp_path, backwards=into, forward=FORWARD, reversed=REVERSED)
    assert "not in the other is not confirmed" in flat_text(seq2seq_improvements(alike))


def test_a_report_without_intervals_has_gains_without(tmp_path):
    bare = [json.loads(json.dumps(model_report)) for model_report in (FORWARD, REVERSED)]
    for model_report in bare:
        del model_report["tests"]["random"]["bleu"]["interval"]
        for part in model_report["tests"]["random"]["by_length"]:
            del part["bleu_low"], part["bleu_high"]
    result = seq2seq_improvements(write_report(tmp_path, forward=bare[0], reversed=bare[1]))
    [reversal] = result.changes
    assert reversal.gain.low is None
    assert reversal.by_length[0].low is None
    assert "BLEU +10.0, a gain." in flat_text(result)


def test_embeddings_are_named_where_they_are_surely_better_or_worse():
    starts = (
        EmbeddingScores("bottleneck", 2000, "learned", (10.0, 12.0)),
        EmbeddingScores("bottleneck", 2000, "skip-gram", (15.0, 17.0), Gain(5.0, 3.0, 7.0)),
        EmbeddingScores("bottleneck", 2000, "random", (10.0, 11.0), Gain(-0.5, -2.0, 1.0)),
    )
    change = Improvement("depth", "hi", "a", "b", (1, 1), 1, (1.0, 2.0), Gain(1.0), ("1+",),
                    (Gain(1.0),), (Gain(1.0),) * 5)  # fmt: skip
    result = Seq2SeqImprovements("here", (change,), starts)
    assert starts[0].mean == 11
    text = flat_text(result)
    assert (
        "better than learned ones for bottleneck with 2,000 pairs (+5.0) and worse nowhere" in text
    )
    assert "better than learned ones nowhere and worse nowhere" in text
    assert "2,000 युग्मों पर bottleneck में (+5.0)" in flat_text(result, "hi")


def test_the_snapshot_has_the_measurements():
    result = seq2seq_improvements()
    assert {change.technique for change in result.changes} == {"reversal"}
    assert {start.embedding for start in result.embeddings} == {"learned", "skip-gram", "random"}
    assert "Snapshot of" in flat_text(result)
    assert result.figure(lang="hi", dark=True).axes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "is not JSON"),
        ('{"models": {"bahdanau": {}}, "main_test": "random"}', "beside bottleneck-forward or bot"),
        (
            '{"models": {"bottleneck-forward": {}, "bottleneck-reversed": {}}}',
            "has no token accuracy by position",
        ),
    ],
)
def test_another_file_is_an_error(tmp_path, text, message):
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        seq2seq_improvements(path)
