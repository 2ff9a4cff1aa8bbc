"""Goodput under failures: the accounting of time, and progress of a run that is killed."""

import pytest

from benchmarks.goodput_under_failures import Attempt, account, goodput, misses


def stepped(at, step, seconds):
    return {"at": at, "event": "Stepped", "step": step, "seconds": seconds}


def saved(at, step):
    return {"at": at, "event": "Saved", "step": step, "seconds": 0.0}


def test_every_second_is_accounted_for_once():
    first = [saved(4.0, 0), stepped(5.0, 5, 1.0), saved(5.5, 5), stepped(8.0, 10, 2.5)]
    second = [stepped(13.0, 10, 1.0), saved(13.5, 10), stepped(15.5, 15, 2.0), saved(16.0, 15)]
    result = account([Attempt(0.0, 10.0, first), Attempt(10.5, 20.0, second)])
    assert result["kills"] == 2
    assert result["steps"] == 15
    assert result["wall_seconds"] == 20.0
    assert result["effective_share"] == pytest.approx((1 + 1 + 2) / 20)
    parts = result["seconds"]
    assert parts["useful_steps"] == 4.0
    assert parts["repeated_steps"] == 2.5
    assert parts["startup"] == pytest.approx(4.0 + 1.5)
    assert parts["between_processes"] == 0.5
    assert sum(parts.values()) == pytest.approx(20.0)


def test_a_process_without_steps_counts_as_startup():
    result = account([Attempt(0.0, 7.0, []), Attempt(7.0, 9.0, [saved(8.0, 0)])])
    assert result["seconds"]["startup"] == 9.0
    assert result["effective_share"] == 0.0


def test_a_missed_target_names_the_largest_loss():
    parts = {"useful_steps": 89.0, "startup": 7.0, "repeated_steps": 4.0}
    result = {"wall_seconds": 100.0, "effective_share": 0.89, "seconds": parts}
    (miss,) = misses(result)
    assert miss.startswith("effective_share: 0.89, target 0.9; largest loss: startup")
    assert misses({**result, "effective_share": 0.9}) == []


@pytest.mark.soak
def test_a_run_that_is_killed_periodically_makes_progress():
    result = goodput(minutes=1.5, kill_every=30.0)
    assert result["kills"] == 3
    assert result["steps"] > 0
    assert sum(result["seconds"].values()) == pytest.approx(result["wall_seconds"], abs=0.5)
    assert result["effective_share"] > 0.3
