"""Learning rates and teacher forcing over time, compared with the papers' formulas."""

from math import cos, exp, pi

import pytest

from dhyan.config import Training
from dhyan.run.build_trainer import make_forcing, make_plateau, make_schedule
from dhyan.training import scheduled_sampling as forcing
from dhyan.training.schedule import Plateau, constant, cosine, halving, inverse_sqrt

STEPS = range(1, 300)


def test_warm_up_is_linear():
    assert [constant(warmup=4)(s) for s in (1, 2, 4, 9)] == [0.25, 0.5, 1, 1]
    assert constant()(1) == 1


def test_halving_halves_at_regular_intervals():
    halved = halving(start=10, every=5)
    assert [halved(s) for s in (1, 10, 11, 15, 16, 21)] == [1, 1, 0.5, 0.5, 0.25, 0.125]


def test_inverse_sqrt_is_that_of_vaswani_up_to_its_peak_value():
    width, warmup = 512, 40
    peak = width**-0.5 * warmup**-0.5
    for step in STEPS:
        paper = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert inverse_sqrt(warmup=warmup)(step) * peak == pytest.approx(paper)


def test_cosine_is_that_of_loshchilov_and_hutter_after_the_warm_up():
    warmup, steps, highest, lowest = 20, 200, 1.0, 0.1
    factor = cosine(steps=steps, warmup=warmup, lowest_factor=lowest)
    for step in range(warmup, steps + 1):
        share = (step - warmup) / (steps - warmup)
        paper = lowest + 0.5 * (highest - lowest) * (1 + cos(pi * share))
        assert factor(step) == pytest.approx(paper)
    assert [factor(step) for step in (5, 10, 20)] == [0.25, 0.5, 1]
    assert factor(steps) == factor(steps + 50) == pytest.approx(lowest)


def test_a_plateau_reduces_the_rate_down_to_the_lowest():
    plateau = Plateau(factor=0.5, patience=3, lowest_factor=0.2)
    assert [waited for waited in range(10) if plateau.reduces(waited)] == [3, 6, 9]
    assert [plateau.factor_after(falls) for falls in range(4)] == [1, 0.5, 0.25, 0.2]


def test_forcing_ratios_are_those_of_bengio():
    linear = forcing.linear(k=0.9, slope=0.01, least=0.3)
    exponential, sigmoid = forcing.exponential(k=0.98), forcing.inverse_sigmoid(k=30.0)
    for step in STEPS:
        assert linear(step) == max(0.3, 0.9 - 0.01 * step)
        assert exponential(step) == pytest.approx(0.98**step)
        assert sigmoid(step) == pytest.approx(30 / (30 + exp(step / 30)))


def test_late_steps_do_not_overflow():
    late = 10**9
    assert forcing.inverse_sigmoid(k=1.0)(late) == 0
    assert forcing.exponential(k=0.5)(late) == 0
    assert forcing.linear(k=1.0, slope=1.0, least=0.25)(late) == 0.25


@pytest.mark.parametrize("schedule", ["linear", "exponential", "inverse_sigmoid"])
def test_ratios_never_rise_and_are_probabilities(schedule):
    k = {"exponential": 0.9}.get(schedule, 5.0)
    ratio = make_forcing(
        Training(teacher_forcing_schedule=schedule, teacher_forcing_slope=0.01, teacher_forcing_k=k)
    )
    course = [ratio(step) for step in STEPS]
    assert course == sorted(course, reverse=True)
    assert 0 <= course[-1] < course[0] <= 1


def test_the_recipe_chooses_the_schedule():
    schedule = make_schedule(
        Training(schedule="cosine", steps=100, warmup_steps=10, min_learning_rate_ratio=0.5)
    )
    assert schedule(100) == pytest.approx(0.5)
    assert make_schedule(Training(schedule="plateau", warmup_steps=10))(5) == 0.5
    assert make_plateau(Training(schedule="plateau")) == Plateau()
    assert make_plateau(Training(schedule="cosine")) is None
    assert make_forcing(Training())(10**6) == 1
