"""Curves are drawn with a name at the end of each, and no two names on one another."""

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given, strategies

from dhyan.errors import UserError
from dhyan.insight.heatmap import save
from dhyan.insight.lesson_blocks import Curve
from dhyan.insight.line_chart import line_chart, spread

WORDS = {"title": "BLEU", "x_label": "words", "y_label": "BLEU"}
heights = strategies.lists(strategies.floats(0, 100), min_size=1, max_size=12).map(sorted)


@given(heights)
def test_labels_keep_a_gap_and_their_order_within_the_page(heights):
    spread_heights = spread(heights, 5.0, 0.0, 100.0)
    assert all(b - a >= 5 - 1e-6 for a, b in pairwise(spread_heights))
    assert spread_heights[0] >= -1e-6
    assert spread_heights[-1] <= 100 + 1e-6


def test_labels_with_room_stay_at_their_curve():
    assert spread([10.0, 50.0, 90.0], 5.0, 0.0, 100.0) == [10.0, 50.0, 90.0]


def test_two_labels_at_one_height_are_moved_apart_evenly():
    assert spread([50.0, 50.0], 4.0, 0.0, 100.0) == [48.0, 52.0]


def labels(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_every_curve_is_labelled_and_missing_values_are_left_out(tmp_path):
    lines = [
        Curve("ध्यान", [90.0, 80.0, None], [88.0, 79.0, None], [91.0, 82.0, None]),
        Curve("bottleneck", [70.0, 40.0, 10.0], style="dashed"),
    ]
    figure = line_chart(lines, ["1–5", "6–10", "11+"], **WORDS)
    assert {"ध्यान", "bottleneck"} <= set(labels(figure))
    sums = set()
    for name in ("a.png", "b.png"):
        save(line_chart(lines, ["1–5", "6–10", "11+"], **WORDS), tmp_path / name)
        sums.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(sums) == 1


def test_curves_differ_in_colour_or_line_style():
    lines = [
        Curve(
            f"s{n}",
            [float(n), n + 1.0],
            style="dashed" if n < 3 else "solid" if n < 9 else "dotted",
        )
        for n in range(12)
    ]
    figure = line_chart(lines, ["a", "b"], **WORDS)
    markers = [line for line in figure.axes[0].lines if line.get_marker() not in ("", "None")]
    assert len(markers) == 12
    assert len({(line.get_color(), line.get_marker()) for line in markers}) == 12


def test_an_empty_chart_is_an_error():
    with pytest.raises(UserError, match="nothing to draw"):
        line_chart([Curve("a", [None])], ["1"], **WORDS)
