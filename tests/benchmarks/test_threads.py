"""The benchmark of threads: what it promises, and that it measures every variant."""

import pytest

from benchmarks import threads as benchmark
from benchmarks.threads import BEFORE, DEFAULT, ONE, measure, misses


def test_a_default_slower_than_promised_is_named():
    alone, busy = (
        {ONE: 50.0, BEFORE: 100.0, DEFAULT: 99.0},
        {ONE: 30.0, BEFORE: 20.0, DEFAULT: 40.0},
    )
    assert misses("small", {"alone": alone, "busy": busy}) == []
    assert misses("small", {"alone": alone, "busy": {**busy, DEFAULT: 28.0}}) == [
        "small, busy: default 28.0, one thread 30.0"
    ]
    assert misses("small", {"alone": {**alone, DEFAULT: 94.0}, "busy": busy}) == [
        "small, alone: default 94.0, spinning 100.0"
    ]


@pytest.mark.soak
def test_every_variant_is_measured(monkeypatch):
    monkeypatch.setattr(benchmark, "ROUNDS", 1)
    result = measure("bahdanau2015-small")
    assert all(speed > 0 for speeds in result.values() for speed in speeds.values())
