"""Depth at equal width: gains over the seeds, and sentences that follow from them."""

import pytest

from dhyan.lessons.sequences.bleu_gain import Gain, gain_over_seeds
from dhyan.lessons.sequences.seq2seq_improvements import Improvement, Seq2SeqImprovements
from dhyan.lessons.sequences.stacked_depth import read_depth

REVERSAL = Improvement("reversal", "hi", "a", "b", (1, 1), 1, (1.0, 2.0), Gain(1.0), ("1+",),
                       (Gain(1.0),), (Gain(1.0),) * 5)  # fmt: skip


def figures(gains):
    """Results in which the gain of depth over one layer is that of (model, pairs, layers)."""

    def row(model, pairs, layers):
        bleu = [20 + gains.get((model, pairs, layers), 0) + noise for noise in (0.0, 0.4, 0.8)]
        short = {"least": 1, "most": 5, "sentences": 2, "bleu": [30.0, 31.0, 32.0]}
        long = {"least": 21, "most": 30, "sentences": 2, "bleu": bleu}
        return {
            "model": model, "pairs": pairs, "layers": layers, "parameters": 10**6 * layers,
            "learning_rate": 0.001, "bleu": bleu, "by_length": [short, long],
        }  # fmt: skip

    return {
        "width": 256, "steps": 1500, "longest": 30, "test_sentences": 4, "rates": [0.001, 0.003],
        "rows": [
            row(model, pairs, layers)
            for model in ("no attention", "luong")
            for layers in (1, 2, 4)
            for pairs in (2000, 50_000)
        ],
    }  # fmt: skip


def page(gains, lang="en"):
    depth = read_depth("depth_here.json", figures(gains))
    result = Seq2SeqImprovements("here", (REVERSAL,), depth=depth)
    return " ".join(result.text(lang).split())


def test_a_gain_over_seeds_is_paired_and_its_interval_is_students():
    gain = gain_over_seeds((10.0, 20.0, 30.0), (11.0, 22.0, 33.0))
    assert gain.value == pytest.approx(2)
    assert gain.high - gain.value == pytest.approx(4.30 / 3**0.5)
    assert gain.sign == 0
    assert gain_over_seeds((10.0, 20.0, 30.0), (12.0, 22.0, 32.0)).sign == 1


def test_every_combination_is_read_with_its_lengths():
    depth = read_depth("r", figures({("luong", 2000, 4): 3.0}))
    assert depth.depths == (1, 2, 4)
    assert depth.lengths == ("1–5", "21–30")
    assert depth.gain("luong", 2000, 4).value == pytest.approx(3)
    assert depth.gain("no attention", 2000, 4).value == 0
    short, long = depth.gains_by_length("luong", 2000)
    assert (short.value, long.value) == (0, pytest.approx(3))


def test_the_verdict_follows_either_sign():
    assert "is not confirmed here" in page({})
    better = page({("luong", 50_000, 4): 3.0})
    assert "4 layers +3.0 (+3.0 … +3.0), a gain" in better
    assert "1 are significantly better and 0 significantly worse" in better
    assert "is confirmed where the gain is significant" in better
    worse = page({("luong", 50_000, 4): -3.0})
    assert "4 layers −3.0 (−3.0 … −3.0), a loss" in worse
    assert "is contradicted for models trained like these" in worse
    both = page({("luong", 50_000, 4): -3.0, ("luong", 2000, 2): 1.0})
    assert "depends on model and data" in both
    assert "मॉडल और डेटा पर निर्भर है" in page(
        {("luong", 50_000, 4): -3.0, ("luong", 2000, 2): 1.0}, "hi"
    )


def test_a_deep_model_far_behind_is_called_undertrained_and_no_other():
    stuck = page({("luong", 50_000, 4): -12.0})
    assert "With 50,000 pairs it is far behind, 8.4 against 20.4 BLEU (Luong's attention)" in stuck
    assert "after 1,500 updates it has not been trained to the end" in stuck
    assert "गहराई से प्रशिक्षण धीमा होता है" in page({("luong", 50_000, 4): -12.0}, "hi")
    assert "trained to the end" not in page({("luong", 50_000, 4): -3.0})
    assert "trained to the end" not in page({("luong", 2000, 4): -12.0})


def test_long_sentences_and_data_size_are_compared():
    text = page({("luong", 50_000, 4): 3.0, ("luong", 2000, 4): -1.0})
    assert "larger than on the shortest in 1 of 4 settings" in text
    assert "Luong's attention −1.0 and +3.0" in text
    assert "significantly larger with more pairs in 1 of 2 models" in text
    assert "in 0 of 2 models" in page({("luong", 50_000, 4): -3.0})


def test_only_a_report_with_a_deep_model_is_introduced_with_depth():
    assert "doubles the number of layers" not in page({})
    deep = Seq2SeqImprovements("here", (Improvement("depth", "hi", "a", "b", (1, 2), 1, (1.0, 2.0),
        Gain(1.0), ("1+",), (Gain(1.0),), (Gain(1.0),) * 5),))  # fmt: skip
    assert "doubles the number of layers" in " ".join(deep.text().split())
