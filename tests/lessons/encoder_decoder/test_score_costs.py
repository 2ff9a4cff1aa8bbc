"""What a score costs: formulas against real modules, and a verdict that follows the times."""

from dataclasses import replace

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.encoder_decoder.score_costs import MECHANISMS, score_costs
from dhyan.models.build_attention import build_score


@pytest.fixture(scope="module")
def result():
    return score_costs([16, 48], source=7, target=5, batch=2, rounds=2)


def test_the_formulas_count_what_is_there(result):
    assert result.parameters == result.parameters_counted
    assert result.operations == result.operations_counted
    assert "agree with the counts of dhyan's modules" in " ".join(result.text().split())


def test_the_counts_match_a_calculation_by_hand(result):
    assert result.parameters == {
        "additive": (16 * 34, 48 * 98),
        "concat": (16 * 34, 48 * 98),
        "general": (256, 2304),
        "dot": (0, 0),
    }
    assert result.operations["dot"] == (5 * 7 * 16, 5 * 7 * 48)
    assert result.operations["general"][0] == 7 * 16 * 16 + 5 * 7 * 16
    assert result.operations["additive"][0] == 7 * 16 * 16 + 5 * 16 * 16 + 5 * 7 * 16


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_is_the_one_of_that_name_in_recipes(name):
    from dhyan import config

    ours = MECHANISMS[name].make(8)
    theirs = build_score(config.Attention(score=name, score_width=8), 8, 8, 30)
    assert type(ours) is type(theirs)
    assert [p.shape for p in ours.parameters()] == [p.shape for p in theirs.parameters()]


def test_every_time_is_measured_and_the_random_state_is_unchanged(result):
    assert all(second > 0 for times in result.seconds.values() for second in times)
    assert result.noise >= 1
    assert f"medians on a machine with {result.machine.cores} cores" in " ".join(
        result.text().split()
    )
    torch.manual_seed(3)
    before = torch.get_rng_state()
    score_costs([4], source=2, target=2, batch=1, rounds=1)
    assert torch.equal(torch.get_rng_state(), before)


def timed(result, *, dot, general=(1.0, 1.0)):
    same = {"additive": (1.0, 1.0), "concat": (1.1, 1.0)}
    return replace(result, seconds={**same, "general": general, "dot": dot}, noise=1.1)


@pytest.mark.parametrize(
    ("dot", "message", "hindi"),
    [
        (
            (0.5, 0.25),
            "dot was faster than additive at every width: additive took 2.0–4.0 times",
            "हर चौड़ाई पर additive से तेज़ रहा",
        ),
        (
            (0.5, 1.0),
            "dot was faster than additive only at width 16: additive took 1.0–2.0",
            "केवल चौड़ाई 16 पर",
        ),
        ((2.0, 4.0), "dot was not faster than additive: additive took 0.2–0.5 times", "तेज़ नहीं रहा"),
        (
            (1.0, 0.95),
            "dot and additive do not differ by more than the noise",
            "अंतर मापन की त्रुटि से अधिक नहीं है",
        ),
    ],
)
def test_the_verdict_follows_the_times(result, dot, message, hindi):
    other = timed(result, dot=dot)
    assert "factor of up to 1.10" in " ".join(other.text().split())
    assert message in " ".join(other.text().split())
    assert hindi in " ".join(other.text("hi").split())


def test_a_wrong_formula_is_reported(result):
    wrong = replace(result, operations_counted={**result.operations, "dot": (1, 1)})
    assert "do not agree" in " ".join(wrong.text().split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"widths": []}, r"widths: give whole numbers from 1 on, such as \[64, 128\]"),
        ({"widths": [0]}, "widths: give whole numbers"),
        ({"batch": 0}, "batch: give whole numbers from 1 on, such as 30"),
        ({"rounds": 0}, "rounds: give whole numbers"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(arguments, message):
    with pytest.raises(UserError, match="^" + message):
        score_costs(**arguments)


def test_it_has_a_figure(result):
    assert result.figure(lang="hi", dark=True).axes
