"""Targets of the server under load: a benchmark that misses one reports it."""

import json

import pytest

from benchmarks.load_generator import RAMP, Outcome, Reply, missed_targets, summarize

LEVEL = {"accepted_ms": {"p99": 200.0}, "refused_without_retry_after": 0}
LOADED = {
    "min_goodput_share": 0.95, "max_accepted_p99_ratio": 2.0,
    "max_refused_p99_ms": 50.0, "connection_errors": 0, "other_statuses": 0,
    "levels": {"0.9": LEVEL, "10": LEVEL},
}  # fmt: skip
GOOD = {
    "fixed": {**LOADED, "recovery_ms": {"p99": 300.0}},
    "real": LOADED,
    "fairness": {"p99_ratio": 1.5, "others_refused": 0.01, "flood_refused": 0.7},
    "throughput": {
        "sentences": 4000,
        "default_batches": {"share": 0.95, "same_translations": True},
    },
}


def changed(path, value):
    """The good figures with one value changed."""
    figures = json.loads(json.dumps(GOOD))
    *parents, last = path
    part = figures
    for name in parents:
        part = part[name]
    part[last] = value
    return figures


def test_figures_at_the_limits_miss_nothing():
    assert missed_targets(GOOD) == []


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("fixed", "min_goodput_share"), 0.949, "fixed: goodput 0.949 of capacity"),
        (("real", "max_accepted_p99_ratio"), 2.1, "real: accepted p99 2.1 times"),
        (("fixed", "max_refused_p99_ms"), 51.0, "refused p99 51.0 ms"),
        (("real", "connection_errors"), 1, "1 connection errors"),
        (("real", "other_statuses"), 2, "2 other statuses"),
        (("fixed", "levels", "10", "refused_without_retry_after"), 3, "3 refused without"),
        (("fixed", "recovery_ms", "p99"), 301.0, "after overload"),
        (("fairness", "p99_ratio"), 1.51, "1.51 times the baseline"),
        (("fairness", "others_refused"), 0.02, "0.02 of other clients' requests"),
        (("fairness", "flood_refused"), 0, "no request of the flood"),
        (("throughput", "default_batches", "same_translations"), False, "translations differ"),
        (("throughput", "default_batches", "share"), 0.94, "0.94 of `dhyan translate`"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_every_figure_beyond_its_limit_is_named(path, value, text):
    [miss] = missed_targets(changed(path, value))
    assert text in miss


def test_goodput_counts_by_time_of_reply():
    soon, late, refused = Reply(101, 0.5, 200), Reply(105, 3.0, 200), Reply(105, 0.1, 429)
    filling, after = Reply(100.1, RAMP / 2, 200), Reply(109.9, 0.5, 200)
    run = Outcome(10, 100, [filling, soon, late, refused, after])
    assert run.goodput(within=2) == 1 / (10 - RAMP)
    assert run.goodput(within=4) == 2 / (10 - RAMP)
    summary = summarize([run, Outcome(15, 200, [])], within=2)
    assert (summary["accepted"], summary["refused"], summary["offered_per_second"]) == (4, 1, 0.2)
    assert summary["goodput_per_second"] == round(0.5 / (10 - RAMP), 1)
