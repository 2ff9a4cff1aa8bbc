"""Why √dk: variances, the notes' softmaxes, and gradients while a tiny Transformer learns."""

from dataclasses import replace

import pytest
import torch

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.lessons.self_attention.scaled_dot_product import (
    TrainingRun,
    measure_spread,
    scaled_dot_product,
    softmax_gradient_norm,
    train_head,
)

RUN = TrainingRun(
    key_width=64,
    scaled=True,
    steps=(1,),
    losses=(3.0,),
    through=(1.0,),
    weights=(1.0,),
    largest=(0.4,),
    most=1.0,
    loss=0.1,
    right=0.9,
)


def quick(**arguments):
    return scaled_dot_product(**{"steps": 0, "widths": (16, 64), "draws": 200, **arguments})


def flat(result):
    """Its text without line breaks."""
    return " ".join(result.text().split())


def text_of(both=0.9, small=None, **changes):
    """The story of made-up runs: as `RUN`, changed without √dk, narrow without it and with it."""
    other = replace(RUN, scaled=False, **changes)
    narrow = replace(other, key_width=8, right=other.right if small is None else small)
    runs = (RUN, other, narrow, replace(RUN, key_width=8, right=both))
    return flat(replace(quick(), runs=runs))


def test_the_variance_of_a_dot_product_grows_linearly_with_its_width():
    result = measure_spread((1, 4, 16, 64, 256), draws=2000, seed=1)
    low, high = result.per_width
    assert 0.9 < low < high < 1.1
    assert "grows linearly" in flat(scaled_dot_product(steps=0))


def test_divided_by_the_root_of_the_width_the_variance_is_1():
    result = measure_spread((4, 64, 256), draws=2000, seed=1)
    assert torch.allclose(result.variances[1], torch.ones(3, dtype=torch.float64), atol=0.1)


def test_a_tenth_of_the_numbers_has_a_hundredth_of_the_variance():
    result = quick()
    assert (result.variance, result.divided_variance) == (400, pytest.approx(4))
    halved = quick(numbers=[1, 2, 5], divide_by=2)
    assert halved.divided_variance == pytest.approx(halved.variance / 4)


def test_the_softmaxes_are_those_of_the_notes():
    expected = [[0.881, 0.119], [0.731, 0.269], [0.269, 0.731], [0.0001, 0.9999]]
    result = quick()
    assert result.pairs.tolist() == [[6, 4], [3, 2], [4, 5], [1, 10]]
    for weights, pair in zip(result.softmaxed.tolist(), expected, strict=True):
        assert weights == pytest.approx(pair, abs=5e-4 if pair[0] > 0.01 else 5e-5)


def test_wide_dot_products_saturate_the_softmax_and_its_slope_falls():
    result = measure_spread((4, 16, 64, 256), draws=1000, seed=1)
    assert (result.largest[0].diff() > 0).all()
    assert (result.slopes[0].diff() < 0).all()
    assert (result.largest[1] < 0.5).all()
    assert result.slopes[1, -1] > 2 * result.slopes[0, -1]


def test_the_slope_is_the_norm_of_the_softmaxs_jacobian():
    scores = torch.randn(5, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: x.softmax(0), scores)
    assert float(softmax_gradient_norm(scores.softmax(0))) == pytest.approx(float(jacobian.norm()))


def test_values_may_be_of_another_width_than_keys_but_queries_may_not():
    assert quick().free_values == (3, 4, 6)
    with pytest.raises(ValueError, match="a dot product needs equal widths"):
        attend(torch.ones(3, 4), torch.ones(3, 5), torch.ones(3, 6))


def test_the_verdict_on_gradients_and_accuracy_follows_the_figures():
    assert "so it vanishes; " in text_of(through=(0.005,))
    assert "0.30 times that with √dk, so it is smaller but" in text_of(through=(0.3,))
    assert "so it does not vanish; " in text_of(through=(5.0,))
    assert "so it explodes. " in text_of(most=300.0)
    assert "so it is larger but does not explode. " in text_of(most=3.0)
    assert "so it does not explode. " in text_of(most=1.5)
    assert "50.0% without: scaling helps." in text_of(right=0.5)
    assert "100.0% without: scaling harms." in text_of(right=1.0)
    assert "89.0% without: scaling makes no clear difference." in text_of(right=0.89)


def test_the_gradient_trend_is_reported():
    assert "with one seed" in text_of()
    assert "during training it grows (0.1 → 0.3)" in text_of(through=(0.1, 0.3))
    assert "during training it falls (0.3 → 0.1)" in text_of(through=(0.3, 0.1))


def test_narrow_runs_are_compared_with_wide_ones():
    text = text_of(right=0.3, small=0.33, both=0.45)
    assert "gives 33.0%, worse than dk 64 with √dk and about as good as dk 64 without." in text
    assert "gives 45.0%: scaling helps there, and it is worse than dk 64 with √dk." in text
    text = text_of(right=0.3, small=0.9, both=0.9)
    assert "gives 90.0%, about as good as dk 64 with √dk and better than dk 64 without." in text
    assert "scaling makes no clear difference there, and it is about as good as dk 64" in text


def test_every_width_is_trained_with_the_root_and_without():
    runs = quick(steps=2, width=8, narrow=4).runs
    kinds = [(run.key_width, run.scaled) for run in runs]
    assert kinds == [(8, True), (8, False), (4, False), (4, True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"widths": []}, "widths: give at least one whole number"),
        ({"steps": -1}, "steps is -1: give a whole number of at least 0"),
        ({"divide_by": 0}, "divide_by is 0: give a number other than 0"),
        ({"pairs": [[1], [2, 3]]}, "pairs: not numbers in rows of one length"),
        ({"numbers": []}, r"numbers: not numbers in one row, such as \[1, 0\]"),
        ({"narrow": 0}, "narrow is 0: give a whole number of at least 1"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        quick(**arguments)


def test_training_repeats_and_leaves_the_random_state():
    before = torch.random.get_rng_state()
    lines = []
    first, again = (
        train_head(key_width=8, scaled=True, steps=4, seed=3, on_progress=lines.append)
        for _ in range(2)
    )
    assert first == again
    assert first.steps == (1, 2, 3, 4)
    assert len(lines) == 8
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.soak
def test_without_the_root_a_real_run_saturates_and_learns_less():
    good, raw = (
        train_head(key_width=64, scaled=over, steps=100, seed=1, on_progress=None)
        for over in (True, False)
    )
    assert raw.largest[0] > 0.8 > good.largest[0]
    assert raw.weights[0] > 1.5 * good.weights[0]
    assert raw.late < 0.5 * good.late
    assert good.right > raw.right + 0.1
