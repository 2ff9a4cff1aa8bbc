"""The report of progress: the time left does not swing."""

from pathlib import Path

import pytest

from dhyan.training.events import Saved, Skipped, Stepped, Validated
from dhyan.training.progress_display import TimeLeft

STEPS, REPORT, EVERY = 3000, 10, 500


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def simulate(*, step_seconds, validation_seconds=30.0, save_seconds=2.0, first_seconds=0.0):
    """The events of a run with the clock moved to each, and the seconds from start to end."""
    events, now = [], first_seconds
    for step in range(REPORT, STEPS + 1, REPORT):
        now += REPORT * step_seconds(step)
        events.append((now, Stepped(step, 0, 1.0, 0.1, 1.0, 100, 1.0)))
        if step % EVERY == 0:
            now += validation_seconds
            events.append((now, Validated(step, {"loss": 1.0}, best=False)))
            now += save_seconds
            events.append((now, Saved(step, Path("step"), best=False)))
    return events, now


def estimates(events):
    """The step and the seconds left at each event."""
    clock = Clock()
    start, left = (
        clock.now,
        TimeLeft(steps=STEPS, step=0, validate_every=EVERY, save_every=EVERY, clock=clock),
    )
    assert left.seconds() is None
    assert left.format() == ""
    for time, event in events:
        clock.now = start + time
        left.update(event)
        yield time, event, left.seconds()


def test_a_slow_start_and_validations_do_not_swing_the_time_left():
    events, end = simulate(step_seconds=lambda step: 0.2, first_seconds=40.0)
    for time, event, left in list(estimates(events))[1:]:
        known = time > 150  # the first validation is over
        expected = end - time
        assert left == pytest.approx(expected, rel=0.02 if known else 0.35, abs=1.0), event


def test_a_short_disturbance_changes_the_time_left_little():
    slow = range(1500, 1600)
    events, _ = simulate(step_seconds=lambda step: 2.0 if step in slow else 0.2)
    even, _ = simulate(step_seconds=lambda step: 0.2)
    for (_, _, left), (_, _, expected) in zip(estimates(events), estimates(even), strict=True):
        assert left <= 2.5 * expected + 1


def test_a_lasting_change_of_speed_is_followed():
    events, end = simulate(step_seconds=lambda step: 0.2 if step < 500 else 0.6)
    late = [(end - time, left) for time, event, left in estimates(events) if event.step > 1500]
    for expected, left in late:
        assert left == pytest.approx(expected, rel=0.2, abs=2.0)


def test_the_time_left_runs_down_during_a_validation():
    clock = Clock()
    left = TimeLeft(steps=100, step=0, validate_every=50, save_every=50, clock=clock)
    for step in (10, 20):
        clock.now += 10.0
        left.update(Stepped(step, 0, 1.0, 0.1, 1.0, 100, 1.0))
    assert left.seconds() == pytest.approx(80.0)
    clock.now += 30.0
    assert left.seconds() == pytest.approx(50.0)
    assert left.format() == "0:50 left"
    clock.now += 300.0
    assert left.seconds() == 0.0


def test_a_run_that_goes_back_still_has_an_estimate():
    clock = Clock()
    left = TimeLeft(steps=100, step=0, validate_every=50, save_every=50, clock=clock)
    for step in (10, 20, 30, 20, 30):
        clock.now += 10.0
        left.update(Stepped(step, 0, 1.0, 0.1, 1.0, 100, 1.0))
        left.update(Skipped(step, (0,), (1,), "a loss of nan"))
    assert left.seconds() == pytest.approx(70.0)
