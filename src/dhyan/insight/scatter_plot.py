"""Scatter plots for lesson figures, with labels placed where they overlap nothing."""

from collections.abc import Iterator, Sequence
from math import cos, dist, pi, sin
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from dhyan.insight.fonts import shorten
from dhyan.insight.heatmap import PAD, SMALL
from dhyan.insight.lesson_blocks import ScatterPlot
from dhyan.insight.lesson_figure_layout import CAPTION, Canvas, FigureStyle, SizedBlock, legend
from dhyan.insight.line_chart import LEFT

# Lengths are in points, 72 to the inch; within the square they rise from its lower left.
PLANE, TICKS = 210.0, 14.0
FAINT = 0.45
MARKERS = (("o", 5.0), ("s", 4.6), ("^", 5.6), ("D", 4.2), ("v", 5.6), ("P", 5.8), ("X", 5.6))
DOT, NEAR, FAR = 3.0, 5.5, (12.0, 22.0, 34.0)  # half a marker; from a point to its label
ABOVE, UNDER = 0.95, 0.3  # how far letters reach over and under their line, in their size

Spot = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def scatter_plot_block(block: ScatterPlot, style: FigureStyle) -> SizedBlock:
    """Points with labels and arrows on a square, with a legend of their groups below."""
    xs = [point.x for point in block.points] + [at for a, _, b, _ in block.arrows for at in (a, b)]
    ys = [point.y for point in block.points] + [at for _, a, _, b in block.arrows for at in (a, b)]
    side = 1.25 * max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    left, low = ((min(values) + max(values) - side) / 2 for values in (xs, ys))
    named = [(_marker(group, style), name) for group, name in enumerate(block.groups) if name]
    entries = legend(named, style, LEFT + PLANE)
    top = CAPTION + (CAPTION if block.y_label else 6)
    under = top + PLANE + TICKS

    def draw(canvas: Canvas, x: float, y: float) -> None:
        style.caption(canvas, x, y, block.title)
        axes = canvas.inset(x + LEFT, y + top, PLANE, PLANE)
        axes.set(xlim=(left, left + side), ylim=(low, low + side))
        _frame(axes, style)
        _fill(axes, block, style)
        _label(axes, block, style, side / PLANE)
        grey = style.theme.grey
        if block.y_label:
            canvas.text(x + LEFT, y + top - PAD, style.texts[block.y_label], style.font, grey)
        if block.x_label:
            middle, label = x + LEFT + PLANE / 2, style.texts[block.x_label]
            canvas.text(middle, y + under + 12, label, style.font, grey, ha="center")
        entries.draw(canvas, x, y + under + CAPTION * bool(block.x_label) + PAD)

    wide = max(style.font.measure(style.texts[block.title]), LEFT + PLANE + PAD, entries.width)
    high = under + CAPTION * bool(block.x_label) + (PAD + entries.height if entries.height else 0)
    return SizedBlock(wide, high, draw)


def place_labels(
    points: Sequence[Spot], sizes: Sequence[Spot], blocked: Sequence[Box]
) -> list[Box]:
    """A box for the label of each point: the first free position, else the least overlapping."""
    occupied, boxes = list(blocked), []
    for point, size in zip(points, sizes, strict=True):
        best, least = (0.0, 0.0, 0.0, 0.0), float("inf")
        for box in _around(*point, *size):
            outside = size[0] * size[1] - _shared(box, (0.0, 0.0, PLANE, PLANE))
            penalty = 100 * outside + sum(_shared(box, other) for other in occupied)
            if penalty < least - 1e-6:
                best, least = box, penalty
            if penalty < 1e-6:
                break
        boxes.append(best)
        occupied.append((best[0] - 1, best[1], best[2] + 1, best[3]))
        if end := _far(best, point):
            occupied += [_box(*spot, 1.0, 1.0) for spot in _along(point, end)]
    return boxes


def _far(box: Box, point: Spot) -> Spot | None:
    """Where a leader line from the point meets the box, if the box is not beside the point."""
    (left, bottom, right, top), (x, y) = box, point
    end = (min(max(x, left), right), min(max(y, bottom), top))
    return end if dist(end, point) > 1.5 * NEAR else None


def _around(x: float, y: float, wide: float, high: float) -> Iterator[Box]:
    """Candidate boxes around a point, nearest and best first."""
    for across, up in ((1, 1), (1, 0), (-1, 1), (1, -1), (-1, 0), (-1, -1), (0, 1), (0, -1)):
        far = 1.0 if across else NEAR - 1
        yield _box(x + across * (NEAR + wide / 2), y + up * (far + high / 2), wide, high)
    for far in FAR:
        for index in range(16):
            turn = pi / 4 + pi / 8 * ((index + 1) // 2) * (-1) ** index
            aside, over = cos(turn) * (far + wide / 2), sin(turn) * (far + high / 2)
            yield _box(x + aside, y + over, wide, high)


def _box(x: float, y: float, wide: float, high: float) -> Box:
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _shared(box: Box, other: Box) -> float:
    """The area of two boxes in common."""
    wide = min(box[2], other[2]) - max(box[0], other[0])
    high = min(box[3], other[3]) - max(box[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)


def _frame(axes: Axes, style: FigureStyle) -> None:
    axes.set_facecolor(style.theme.paper)
    axes.tick_params(length=0, labelcolor=style.theme.grey, labelsize=SMALL)
    axes.ticklabel_format(useOffset=False)
    axes.grid(color=style.theme.hairline, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)


def _fill(axes: Axes, block: ScatterPlot, style: FigureStyle) -> None:
    for x0, y0, x1, y1 in block.arrows:
        properties = {"arrowstyle": "->", "color": style.theme.grey, "linewidth": 1.1, "shrinkB": 4}
        axes.annotate("", (x1, y1), (x0, y0), arrowprops=properties)
    for point in block.points:
        alpha = FAINT if point.faint else 1.0
        axes.plot([point.x], [point.y], **_marker(point.group, style), alpha=alpha, clip_on=False)


def _marker(group: int, style: FigureStyle) -> dict[str, Any]:
    """The colour and, for the colour-blind, the shape of a group of points."""
    marker, size = MARKERS[group % len(MARKERS)]
    colour = style.theme.lines[group % len(style.theme.lines)]
    return {"color": colour, "marker": marker, "markersize": size, "linestyle": "none", "mew": 0}


def _label(axes: Axes, block: ScatterPlot, style: FigureStyle, step: float) -> None:
    """Labels beside their points, or at the end of a leader line; those of faint points last."""
    (left, _), (low, _) = axes.get_xlim(), axes.get_ylim()

    def at(x: int | float, y: int | float) -> Spot:
        return (x - left) / step, (y - low) / step

    font, theme = style.font, style.theme
    dots = [_box(*at(point.x, point.y), 2 * DOT, 2 * DOT) for point in block.points]
    paths = [
        _box(*spot, DOT, DOT)
        for arrow in block.arrows
        for spot in _along(at(*arrow[:2]), at(*arrow[2:]))
    ]
    named = sorted((point for point in block.points if point.name), key=lambda point: point.faint)
    names = [shorten(style.texts[point.name], PLANE - 4 * NEAR, font.measure) for point in named]
    sizes = [(font.measure(name), (ABOVE + UNDER) * font.size) for name in names]
    spots = [at(point.x, point.y) for point in named]
    halo = [withStroke(linewidth=2, foreground=theme.paper)]
    boxes = place_labels(spots, sizes, dots + paths)
    for point, name, spot, box in zip(named, names, spots, boxes, strict=True):
        if end := _far(box, spot):
            ends = [point.x, left + end[0] * step], [point.y, low + end[1] * step]
            axes.plot(*ends, color=theme.grey, linewidth=0.6)
        corner = (left + box[0] * step, low + (box[1] + UNDER * font.size) * step)
        text_style = font.style(theme.grey if point.faint else theme.ink)
        axes.text(*corner, name, path_effects=halo, **text_style)


def _along(start: Spot, end: Spot) -> Iterator[Spot]:
    """Closely spaced positions on the line between two."""
    count = max(int(dist(start, end) / DOT), 1)
    for share in (step / count for step in range(count + 1)):
        yield (start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share)
