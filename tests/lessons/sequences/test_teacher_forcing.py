"""Teacher forcing and free running, side by side."""

from dataclasses import replace

import pytest

from dhyan.errors import UserError
from dhyan.lessons.sequences.teacher_forcing import TeacherForcing, TrainingCurve, teacher_forcing


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


FAST = TrainingCurve(1.0, (10, 20), (1.5, 0.5), (20.0, 60.0), 1.0)
SLOW = TrainingCurve(0.0, (10, 20), (2.5, 1.5), (10.0, 30.0), 1.0)


def test_the_verdict_follows_the_numbers():
    result = TeacherForcing("numbers", 1, (FAST, SLOW))
    assert result.faster
    assert "converges faster holds in this run" in flat_text(result)
    assert "is 1.000 lower" in flat_text(result)
    assert "free running not within 20 updates" in flat_text(result)
    slower = TeacherForcing("numbers", 1, (replace(FAST, ratio=0.0), replace(SLOW, ratio=1.0)))
    assert "converges faster does not hold" in flat_text(slower)
    assert "सही नहीं है" in flat_text(slower, "hi")


def test_runs_that_pass_at_the_same_update_do_not_differ_in_speed():
    near = replace(SLOW, losses=(2.5, -0.5))
    result = TeacherForcing("numbers", 1, (FAST, near))
    assert not result.faster
    assert "undecided: both reach this loss at the same update" in flat_text(result)
    assert "दोनों एक ही अद्यतन पर" in flat_text(result, "hi")
    neither = TeacherForcing("numbers", 1, (replace(FAST, losses=(1.5, 1.2)), SLOW))
    assert "undecided: neither reaches this loss" in flat_text(neither)
    assert "converges faster holds" not in flat_text(result) + flat_text(neither)


def test_the_held_out_loss_names_its_inputs():
    result = TeacherForcing("numbers", 1, (FAST, SLOW))
    assert "on held-out sentences, with teacher forcing for all models" in flat_text(result)
    assert "सब मॉडलों में teacher forcing से मापी गई है" in flat_text(result, "hi")


def test_the_level_is_passed_on_the_line_between_two_checks():
    assert FAST.reached == 15
    assert SLOW.reached is None
    assert replace(FAST, losses=(0.5, 0.4)).reached == 10


@pytest.mark.slow
def test_equal_seeds_give_equal_curves_and_ratios_differ():
    first, same, other = teacher_forcing([1.0, 1.0, 0.0], steps=8, checks=2).runs
    assert first.losses == same.losses
    assert first.losses != other.losses
    assert first.steps == (4, 8)
    assert first.losses[-1] < first.losses[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "chess"}, "task is 'chess': give one of numbers, reverse"),
        ({"ratios": [1.5]}, r"ratios are \[1.5\]: give one or more numbers from 0 to 1"),
        ({"ratios": []}, "give one or more numbers"),
        ({"steps": 3}, "steps is 3: give a whole number of at least 10"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        teacher_forcing(**arguments)
