"""The benchmark of BPE dropout: every variant is trained and segmented."""

import pytest

from benchmarks import bpe_dropout as benchmark


def test_segmentation_is_measured_with_and_without_compiled_code():
    figures = benchmark.segmentation(["the river and the bridge", "a river and a boat"] * 20)
    assert set(figures) == {"compiled", "compiled, first", "Python", "Python, first"}
    assert all(speed > 0 for speed in figures.values())


@pytest.mark.soak
def test_every_variant_is_trained(monkeypatch):
    monkeypatch.setattr(benchmark, "PRIMER_PAIRS", 2000)
    monkeypatch.setattr(benchmark, "SENTENCES", 500)
    result = benchmark.bpe_dropout(None, rounds=1, seconds=0)
    assert set(result["training"]) == set(benchmark.VARIANTS)
    assert all(speed > 0 for speed in result["training"].values())
