"""A lesson's sheet: nothing lies over anything else, every text is there, by day and by night."""

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
import torch
from matplotlib.colors import to_hex

from dhyan.errors import UserError
from dhyan.insight.colors import DARK, LIGHT, blend, contrast
from dhyan.insight.fonts import Font, families
from dhyan.insight.heatmap import DOTS, LABEL, POINTS, save
from dhyan.insight.lesson_blocks import (
    Curve,
    LineChart,
    Paragraph,
    Point,
    ScatterPlot,
    Table,
    bar_chart,
    format_number,
    heatmap,
    table,
)
from dhyan.insight.lesson_figure import MARGIN, WIDEST, draw_figure, flow, size_block, texts_of
from dhyan.insight.lesson_figure_layout import FigureStyle
from dhyan.insight.lesson_terminal_page import as_plain_text

CURVES = (Curve("scaled", [1, 2, 1]), Curve("not", [1, 8, 60]))
POINTS_SEEN = (Point("bank", 9, 3, faint=True), Point("bank", 7.6, 3.8))
PARTS = (
    Paragraph("Each word looks at all the others. " * 6),
    table("X", torch.tensor([[1.0, -2.5], [0.25, 1086.0]]), ["money", "बैंक"], ["पैसा", "bank"]),
    heatmap("weights", [[0.25, 0.75], [1.0, 0.0]], ["a", "b"], operator="→"),
    table("wide", torch.arange(24.0).reshape(2, 12)),
    LineChart("by width", CURVES, ("1", "2", "3"), "d", "v"),
    ScatterPlot("the plane", POINTS_SEEN, ((9, 3, 7.6, 3.8),)),
    Paragraph("अंत में एक वाक्य।"),
)  # fmt: skip


def placed(parts, widest=WIDEST):
    texts = {text: text for part in parts for text in texts_of(part)}
    style = FigureStyle(Font(families("".join(texts)), LABEL), LIGHT, texts)
    blocks = [size_block(part, style, widest) for part in parts]
    positions, wide, high = flow(blocks, widest, top=0.0)
    return (
        [(x, y, x + b.width, y + b.height) for b, (x, y) in zip(blocks, positions, strict=True)],
        wide,
        high,
    )


@pytest.mark.parametrize("widest", [200.0, 420.0, WIDEST, 2000.0])
def test_blocks_do_not_overlap(widest):
    boxes, wide, high = placed(PARTS, widest)
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert right <= wide + 1e-6
        assert bottom <= high + 1e-6
        for other in boxes[:number]:
            apart = left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]
            assert apart


def test_tables_of_one_line_are_aligned_at_their_first_row():
    values = [[1.0]]
    parts = (
        table("with", values, ["a"], ["b"]),
        table("without", values, ["a"]),
        table("", values),
    )
    (first, second, third), _, _ = placed(parts)
    assert second[1] - first[1] == pytest.approx(16)
    assert third[1] - first[1] == pytest.approx(32)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_is_drawn_within_the_page(theme):
    figure = draw_figure(PARTS, title="A title in हिन्दी", theme=theme)
    texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"money", "बैंक", "पैसा", "scaled", "A title in हिन्दी", "1,086.00", "−2.50"} <= texts
    box = figure.get_tightbbox().extents * POINTS
    wide, high = figure.get_size_inches() * POINTS
    assert min(box[0], box[1]) >= -1
    assert box[2] <= wide + 1
    assert box[3] <= high + 1
    assert wide <= WIDEST + 2 * MARGIN + 1


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_number_can_be_read_on_its_cell(theme):
    for share in torch.linspace(-1, 1, 81).tolist():
        for colour in (theme.signed(share), theme.weight(share)):
            assert contrast(theme.pen(colour), colour) >= 4.5
    assert contrast(theme.ink, theme.paper) >= 7
    assert contrast(theme.grey, theme.paper) >= 4.5
    assert theme.signed(0) == theme.paper
    assert all(contrast(line, theme.paper) >= 1.9 for line in theme.lines)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("draw", [heatmap, table])
def test_every_number_has_enough_contrast(theme, draw):
    scale = torch.linspace(0 if draw is heatmap else -1, 1, 100).view(5, 20).tolist()
    beyond = [[float("inf"), float("-inf"), float("nan"), *[0.0] * 17]]
    (page,) = draw_figure((draw("", scale + beyond),), theme=theme, widest=900.0).axes
    cells = [(box.get_window_extent(), to_hex(box.get_facecolor())) for box in page.patches]
    numbers = [text for text in page.texts if text.get_text()]
    assert len(numbers) == len(cells) == 120
    for text, (box, colour) in zip(numbers, cells, strict=True):
        at = text.get_window_extent()
        assert box.x0 < at.x0 < at.x1 < box.x1
        assert contrast(to_hex(text.get_color()), colour) >= 4.5
    assert len({colour for _, colour in cells}) > 45


def test_names_of_faint_points_can_be_read():
    for theme in (LIGHT, DARK):
        (axes,) = draw_figure(
            (ScatterPlot("", (Point("bank", 1, 1, faint=True),)),), theme=theme
        ).axes[1:]
        assert contrast(axes.texts[0].get_color(), theme.paper) >= 4.5
        assert axes.texts[0].get_alpha() is None


def test_blending_goes_from_one_colour_to_the_other():
    assert blend("#000000", "#ffffff", 0) == "#000000"
    assert blend("#000000", "#ffffff", 1) == "#ffffff"


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for name in ("one.svg", "two.svg"):
        save(draw_figure(PARTS, title="again"), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def crowded(count, words=("bank", "किनारा", "river", "पैसा")):
    positions = torch.randn(count, 2, generator=torch.Generator().manual_seed(count)).tolist()
    names = [f"{words[n % 4]} {n}" for n in range(count)]
    return ScatterPlot("", tuple(map(Point, names, *zip(*positions, strict=True))), ((0, 0, 1, 1),))


@pytest.mark.parametrize("count", [2, 8, 20])
def test_labels_do_not_overlap_labels_points_or_the_edge(count):
    plane = crowded(count)
    axes = draw_figure((plane,)).axes[1]
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert len(boxes) == count
    frame, dot = axes.bbox.padded(DOTS / POINTS), 2 * DOTS / POINTS
    positions = axes.transData.transform([(point.x, point.y) for point in plane.points])
    for number, box in enumerate(boxes):
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
        assert not any(box.overlaps(other) for other in boxes[:number])
        assert not any(box.padded(dot).contains(*position) for position in positions)


def test_labels_of_coinciding_points_do_not_overlap():
    points = tuple(Point(f"{n}", 1, 1) for n in range(9))
    (axes,) = draw_figure((ScatterPlot("", points, y_label="height", x_label="width"),)).axes[1:]
    assert len({text.get_position() for text in axes.texts}) == 9


def test_groups_of_points_have_a_legend_and_their_own_marker():
    cloud = tuple(Point("", n % 10, n // 10, group=n % 3) for n in range(300))
    plane = ScatterPlot(
        "cloud", (*cloud, Point("mean", 4.5, 14.5, group=3)), groups=("a", "b", "ग", "d")
    )
    figure = draw_figure((plane,))
    page, axes = figure.axes
    assert {"a", "b", "ग", "d"} <= {text.get_text() for text in page.texts}
    styles = [{(line.get_color(), line.get_marker()) for line in axis.lines if line.get_markersize()
              and line.get_marker() != "None"} for axis in (page, axes)]  # fmt: skip
    assert styles[0] == styles[1]
    assert len(styles[0]) == len({marker for _, marker in styles[0]}) == 4
    lines = as_plain_text("", (plane,)).splitlines()
    assert lines[2:] == [
        "cloud",
        "  (   4.500,   14.500)  mean · d",
        "  (   4.500,   14.400)  x̄, n = 100 · a",
        "  (   4.500,   14.500)  x̄, n = 100 · b",
        "  (   4.500,   14.600)  x̄, n = 100 · ग",
    ]


def test_a_scatter_plot_needs_points_with_finite_coordinates():
    with pytest.raises(UserError, match="senses: there is no point to draw"):
        ScatterPlot("senses", ())
    with pytest.raises(UserError, match="senses: a point has a coordinate that is not finite"):
        ScatterPlot("senses", (Point("bank", float("nan"), 0),))


def test_a_log_axis_spaces_equal_factors_equally():
    curves = (Curve("a", [1, 10, 100]), Curve("b", [1, 0.1, 0.01], [1, 0.05, 0.0], [1, 0.2, 0.1]))
    (axes,) = draw_figure((LineChart("", curves, ("1", "2", "3"), "x", "y", log=True),)).axes[1:]
    heights = axes.transData.transform([(0, value) for value in (0.01, 0.1, 1, 10, 100)])[:, 1]
    assert torch.tensor(heights).diff().tolist() == pytest.approx([heights[1] - heights[0]] * 4)
    names = {text.get_text(): text.get_window_extent() for text in axes.texts}
    for curve in curves:
        (_, end) = axes.transData.transform((2, curve.values[-1]))
        assert names[curve.name].y0 < end < names[curve.name].y1


def test_many_curves_make_the_chart_higher():
    curves = tuple(Curve(f"curve {n}", [1, 2]) for n in range(20))
    (axes,) = draw_figure((LineChart("", curves, ("1", "2"), "x", "y"),)).axes[1:]
    names = [text for text in axes.texts if text.get_text() != "y"]
    lines = sorted(axes.transData.transform(name.get_position())[1] for name in names)
    assert len(lines) == 20
    assert all(over - under > 1.2 * LABEL * DOTS / POINTS for under, over in pairwise(lines))
    assert all(axes.bbox.containsy(line) for line in lines[1:])


def test_a_curve_has_gaps_at_missing_values_with_an_explanation():
    values = [1.0, None, 3.0, 4.0, float("inf")]
    part = LineChart("", (Curve("a", values), Curve("b", [None] * 5)), tuple("12345"), "x", "y",
                 gap_note="A gap: not measured.")  # fmt: skip
    (page, axes) = draw_figure((part,)).axes
    assert "A gap: not measured." in [text.get_text() for text in page.texts]
    (line,) = (line for line in axes.lines if line.get_marker() == "o" and line.get_ydata()[0] == 1)
    assert [value == value for value in line.get_ydata()] == [True, False, True, True, False]
    assert "A gap: not measured." in as_plain_text("", (part,))
    complete = replace(part, curves=(Curve("a", [1, 0, 3, 4, 5]),))
    assert "A gap: not measured." not in as_plain_text("", (complete,))
    assert "A gap: not measured." in as_plain_text("", (replace(complete, log=True),))


def test_ticks_that_would_overlap_are_thinned():
    def named(count):
        x_ticks = tuple(str(1000 + n) for n in range(count))
        part = LineChart("", (Curve("a", list(range(count))),), x_ticks, "x", "y")
        return [
            label for label in draw_figure((part,)).axes[1].get_xticklabels() if label.get_text()
        ]

    assert len(named(8)) == 8
    boxes = [label.get_window_extent() for label in named(60)]
    assert 5 < len(boxes) < 15
    assert not any(box.overlaps(other) for box, other in combinations(boxes, 2))


BARS = bar_chart(
    "BLEU",
    ["none", "ध्यान"],
    [[20.5, 71], [-3, float("nan")]],
    ["short", "long"],
    lows=[[19, 70], [-4, float("nan")]],
    highs=[[22, 72.5], [-2, float("nan")]],
    x_label="points",
    y_label="system",
    digits=1,
)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_bars_are_proportional_to_their_values(theme):
    figure = draw_figure((BARS,), theme=theme)
    (page,) = figure.axes
    long = [(box.get_facecolor(), box.get_width()) for box in page.patches]
    assert len(long) == 3
    assert long[0][1] / long[2][1] == pytest.approx(20.5 / 71)
    assert long[1][1] / long[2][1] == pytest.approx(3 / 71)
    assert long[0][0] == long[2][0] != long[1][0]
    texts = {text.get_text(): text.get_window_extent() for text in page.texts}
    assert set(texts) - {""} == {"BLEU", "none", "ध्यान", "short", "long", "points", "system",
                                 "20.5", "71.0", "−3.0", "–"}  # fmt: skip
    bars = [box.get_window_extent() for box in page.patches]
    assert texts["20.5"].x0 > bars[0].x1
    assert texts["−3.0"].x1 < bars[1].x0
    boxes = list(texts.values())
    assert not any(box.overlaps(other) for box, other in combinations([*boxes, *bars], 2)
                   if box not in bars and box.width and other.width)  # fmt: skip
    assert all(figure.bbox.containsx(box.x0) and figure.bbox.containsx(box.x1) for box in boxes)


def test_bars_are_printed_with_their_intervals():
    assert as_plain_text("", (BARS,)).splitlines()[2:] == [
        "BLEU   → points   | short · long",
        "  20.5 [19.0, 22.0]  −3.0 [−4.0, −2.0]   none",
        "  71.0 [70.0, 72.5]                  –   ध्यान",
    ]
    assert as_plain_text("", (bar_chart("", ["a", "b"], torch.tensor([1.0, 20.0])),)).endswith(
        "20   b"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [[1], [2], [3], [4]]), "scores: bars have one to three groups, and names"),
        (([], [[]]), "scores: bars have one to three groups, and names"),
        ((["a", "b"], [1]), "scores: a bar is missing, or one has no name"),
        ((["a"], [[1], [2]], ["x"]), "scores: 1 names for 2 groups of bars"),
    ],
)
def test_bars_without_a_name_are_an_error(arguments, message):
    with pytest.raises(UserError, match=message):
        bar_chart("scores", *arguments)


def test_a_bare_table_is_small_and_is_printed_with_its_numbers():
    weights, words = torch.eye(6), [f"बैंक {n}" for n in range(6)]
    bare = heatmap("head 1", weights, words, words, compact=True)
    (page,) = draw_figure((bare,)).axes
    assert {(box.get_width(), box.get_height()) for box in page.patches} == {(10.0, 10.0)}
    assert [text.get_text() for text in page.texts] == ["head 1", *words, *words]
    boxes = [text.get_window_extent() for text in page.texts[1:]]
    cells = [box.get_window_extent() for box in page.patches]
    assert not any(text.overlaps(cell) for text in boxes for cell in cells)
    assert as_plain_text("", (bare,)).count("1.00") == 6


def test_a_notebook_displays_a_figure():
    figure = draw_figure(PARTS, theme=DARK)
    assert figure._repr_svg_().startswith("<?xml")
    assert DARK.paper in figure._repr_svg_()


def test_numbers_are_formatted_with_commas_and_minus_signs():
    complete = Table("", ((2.0, -1086.0),))
    assert [format_number(value, complete) for value in complete.values[0]] == ["2", "−1,086"]
    codes = table("", [[2309, 70000]], commas=False)
    assert [format_number(value, codes) for value in codes.values[0]] == ["2309", "70000"]
    assert format_number(float("nan"), codes) == "–"
    parts = Table("", ((0.5, 2.0),), digits=3)
    assert [format_number(value, parts) for value in parts.values[0]] == ["0.500", "2.000"]
    hidden = Table("", ((2.0, float("-inf")),))
    assert [format_number(value, hidden) for value in hidden.values[0]] == ["2", "−∞"]
    draw_figure((hidden,))
    weights = Table("", ((0.5, 1.0),), weights=True)
    assert [format_number(value, weights) for value in weights.values[0]] == [".50", "1.00"]


def test_printed_lines_have_every_number_and_name():
    text = as_plain_text("A title", PARTS)
    for expected in ("A title", "1,086.00", "पैसा · bank", "scaled", "(   7.600,    3.800)  bank"):
        assert expected in text
    assert all(len(line) < 120 for line in text.splitlines())


def test_wrong_counts_are_errors():
    with pytest.raises(UserError, match="weights: 3 names for 2 rows or columns"):
        table("weights", [[1.0, 0.0], [0.0, 1.0]], ["a", "b", "c"])
    with pytest.raises(UserError, match="nothing to draw"):
        draw_figure(())
