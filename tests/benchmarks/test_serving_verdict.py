"""What is promised of the server under load, and that a benchmark which misses it says so."""

import json

import pytest

from benchmarks.load_generator import RAMP, Outcome, Reply, figures, verdict

LEVEL = {"accepted_ms": {"p99": 200.0}, "refused_without_retry_after": 0}
LOADED = {
    "least_good_share_of_capacity": 0.95, "worst_accepted_p99_by_that_at_0.9": 2.0,
    "worst_refused_p99_ms": 50.0, "connection_errors": 0, "other_statuses": 0,
    "levels": {"0.9": LEVEL, "10": LEVEL},
}  # fmt: skip
GOOD = {
    "fixed": {**LOADED, "two_seconds_after_ten_times_ms": {"p99": 300.0}},
    "real": LOADED,
    "fairness": {"p99_by_usual": 1.5, "others_refused": 0.01, "flood_refused": 0.7},
    "throughput": {"sentences": 4000, "as_it_is": {"share": 0.85, "same_translations": True}},
}


def changed(path, value):
    """The good figures but for one."""
    found = json.loads(json.dumps(GOOD))
    *way, last = path
    place = found
    for name in way:
        place = place[name]
    place[last] = value
    return found


def test_figures_at_the_limits_miss_nothing():
    assert verdict(GOOD) == []


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("fixed", "least_good_share_of_capacity"), 0.949, "fixed: 0.949 of capacity"),
        (("real", "worst_accepted_p99_by_that_at_0.9"), 2.1, "real: accepted p99 2.1 times"),
        (("fixed", "worst_refused_p99_ms"), 51.0, "refused p99 51.0 ms"),
        (("real", "connection_errors"), 1, "1 connection errors"),
        (("real", "other_statuses"), 2, "2 other statuses"),
        (("fixed", "levels", "10", "refused_without_retry_after"), 3, "3 refused without"),
        (("fixed", "two_seconds_after_ten_times_ms", "p99"), 301.0, "after a flood"),
        (("fairness", "p99_by_usual"), 1.51, "1.51 times the usual"),
        (("fairness", "others_refused"), 0.02, "0.02 of what others ask"),
        (("fairness", "flood_refused"), 0, "nothing of the flood"),
        (("throughput", "as_it_is", "same_translations"), False, "other translations"),
        (("throughput", "as_it_is", "share"), 0.84, "0.84 of the command's"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_every_figure_beyond_its_limit_is_named(path, value, said):
    [miss] = verdict(changed(path, value))
    assert said in miss


def test_what_is_good_counts_when_it_comes():
    soon, late, refused = Reply(101, 0.5, 200), Reply(105, 3.0, 200), Reply(105, 0.1, 429)
    filling, after = Reply(100.1, RAMP / 2, 200), Reply(109.9, 0.5, 200)
    run = Outcome(10, 100, [filling, soon, late, refused, after])
    assert run.good(within=2) == 1 / (10 - RAMP)
    assert run.good(within=4) == 2 / (10 - RAMP)
    told = figures([run, Outcome(15, 200, [])], within=2)
    assert (told["accepted"], told["refused"], told["offered_per_second"]) == (4, 1, 0.2)
    assert told["good_per_second"] == round(0.5 / (10 - RAMP), 1)
