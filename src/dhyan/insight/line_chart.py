"""Line charts: one curve per system with its confidence band and its name at its end."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, log10, nan
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dhyan.errors import UserError
from dhyan.insight.colors import LIGHT, Theme
from dhyan.insight.fonts import Font, drawable, families, settings
from dhyan.insight.heatmap import DOTS, LABEL, POINTS, SMALL, TITLE
from dhyan.insight.lesson_blocks import Curve, Style, is_drawable

STYLES: dict[Style, dict[str, Any]] = {
    "solid": {"linestyle": "-", "marker": "o"},
    "dashed": {"linestyle": (0, (4, 2)), "marker": "s"},
    "dotted": {"linestyle": (0, (1, 1.2)), "marker": "D"},
}
WIDE, HIGH, LEFT, TOP, BELOW, LINE = 400, 260, 40, 50, 38, 12.0  # in points
THREAD, SAMPLE, TO_LABEL = 18, 34, 40  # from the frame to where each ends

LineLabel = tuple[str, tuple[float, float], dict[str, Any]]
"""The name of a line, its last point, and its style."""


def line_chart(
    systems: Sequence[Curve], x_ticks: Sequence[str], *, title: str, x_label: str, y_label: str
) -> Figure:
    """Curves over a categorical axis, each with its name at its end rather than in a legend."""
    if not systems or not any(value is not None for system in systems for value in system.values):
        raise UserError("there is nothing to draw: give at least one system with one value")
    texts = [title, x_label, y_label, *x_ticks, *(system.name for system in systems)]
    fonts = families("".join(texts))
    labels = dict(zip(texts, drawable(texts, fonts), strict=True))
    with settings():
        font = Font(fonts, LABEL)
        names = [labels[system.name] for system in systems]
        high = max(HIGH, round(LINE * len(systems)) + 20)
        width = LEFT + WIDE + TO_LABEL + font.widest(names) + 12
        height = TOP + high + BELOW
        figure = Figure(figsize=(width / POINTS, height / POINTS), dpi=DOTS, facecolor="white")
        axes = figure.add_axes((LEFT / width, BELOW / height, WIDE / width, high / height))
        chart = ChartAxes(axes, font, LIGHT, WIDE, high)
        chart.frame(
            [labels[tick] for tick in x_ticks],
            x_label=labels[x_label],
            y_label=labels[y_label],
        )
        chart.fill(systems, names)
        figure.text(
            12 / width,
            1 - 20 / height,
            labels[title],
            **Font(fonts, TITLE).style(LIGHT.ink),
        )
        return figure


@dataclass(frozen=True)
class ChartAxes:
    """The axes of a line chart, with their size in points."""

    axes: Axes
    font: Font
    theme: Theme
    wide: int | float
    high: int | float
    log: bool = False

    def fill(self, systems: Sequence[Curve], names: Sequence[str]) -> None:
        """All lines, each with its name at its end."""
        styles = _line_styles(systems, self.theme)
        for system, style in zip(systems, styles, strict=True):
            _draw(self.axes, system, style, log=self.log)
        ends = [self._end(system) for system in systems]
        self._label(list(zip(names, ends, styles, strict=True)))

    def frame(self, x_ticks: Sequence[str], *, x_label: str, y_label: str) -> None:
        """Axis labels, the ticks, and horizontal grid lines."""
        axes, theme = self.axes, self.theme
        small: dict[str, Any] = {
            "family": self.font.families,
            "size": SMALL + 1,
            "color": theme.grey,
            "parse_math": False,
        }
        axes.set(facecolor=theme.paper, yscale="log" if self.log else "linear")
        wide = replace(self.font, size=SMALL + 1).widest(x_ticks) + 4 if x_ticks else 0.0
        every = max(ceil(wide * len(x_ticks) / self.wide), 1)
        axes.set_xticks(range(0, len(x_ticks), every), x_ticks[::every], **small)
        axes.set_xlim(-0.3, max(len(x_ticks) - 1, 0) + 0.3)
        axes.tick_params(which="both", length=0, labelcolor=theme.grey, labelsize=SMALL + 1)
        axes.grid(axis="y", color=theme.hairline, linewidth=0.7)
        axes.set_axisbelow(True)
        for side, spine in axes.spines.items():
            spine.set(visible=side == "bottom", color=theme.grey, linewidth=0.7)
        axes.set_xlabel(x_label, **{**small, "size": LABEL}, labelpad=6)
        axes.text(0, 1.015, y_label, transform=axes.transAxes, **{**small, "size": LABEL})

    def _end(self, curve: Curve) -> tuple[float, float]:
        """The last point of a curve; the corner of the axes if it has none."""
        values = with_gaps(curve.values, log=self.log)
        points = [(float(x), y) for x, y in enumerate(values) if isfinite(y)]
        corner = (float(self.axes.get_xlim()[1]), float(self.axes.get_ylim()[0]))
        return points[-1] if points else corner

    def _label(self, lines: Sequence[LineLabel]) -> None:
        """Names beside the ends of their lines, moved apart and joined by thin lines."""
        axes = self.axes
        bottom, top, left, right = map(float, (*axes.get_ylim(), *axes.get_xlim()))
        scaled = [self._scaled(y) for y in (bottom, top)]
        tall, step = (scaled[1] - scaled[0]) / self.high, (right - left) / self.wide
        rising = sorted(lines, key=lambda line: line[1][1])
        ideal = [self._scaled(end) for _, (_, end), _ in rising]
        heights = spread(ideal, LINE * tall, *scaled)
        for (name, (x, end), style), height in zip(rising, heights, strict=True):
            y, under = self._unscaled(height), self._unscaled(height - self.font.middle * tall)
            thread = {"color": style["color"], "linewidth": 0.6, "alpha": 0.6, "clip_on": False}
            axes.plot([x, right, right + THREAD * step], [end, end, y], **thread)
            sample = [right + far * step for far in (THREAD, SAMPLE)]
            axes.plot(sample, [y, y], **{**style, "marker": "", "clip_on": False}, linewidth=1.5)
            axes.text(right + TO_LABEL * step, under, name, **self.font.style(self.theme.ink))
        axes.set(xlim=(left, right), ylim=(bottom, top))

    def _scaled(self, value: float) -> float:
        return log10(value) if self.log else value

    def _unscaled(self, height: float) -> float:
        return 10**height if self.log else height


def _line_styles(systems: Sequence[Curve], theme: Theme) -> list[dict[str, Any]]:
    """A colour for each curve; if there are too few, different ones within each line style."""
    counts, styles = Counter[str](), []
    for number, curve in enumerate(systems):
        index = number if len(systems) <= len(theme.lines) else counts[curve.style]
        styles.append({**STYLES[curve.style], "color": theme.lines[index % len(theme.lines)]})
        counts[curve.style] += 1
    return styles


def with_gaps(values: Sequence[int | float | None], *, log: bool = False) -> list[float]:
    """The values, with nan for each that is missing or cannot be drawn."""
    return [
        float(value) if value is not None and is_drawable(value, log=log) else nan
        for value in values
    ]


def _draw(axes: Axes, curve: Curve, style: dict[str, Any], *, log: bool) -> None:
    """The line, broken where a value is missing, and its band."""
    bands = [
        (x, low, high)
        for x, (low, high) in enumerate(zip(curve.lows, curve.highs, strict=True))
        if low is not None and high is not None
    ]
    if bands:
        xs, lows, highs = zip(*bands, strict=True)
        axes.fill_between(xs, lows, highs, color=style["color"], alpha=0.1, linewidth=0)
    values = with_gaps(curve.values, log=log)
    axes.plot(range(len(values)), values, **style, linewidth=1.5, markersize=3.2, clip_on=False)


def spread(ideal: Sequence[float], gap: float, bottom: float, top: float) -> list[float]:
    """Heights in rising order, as near the ideal ones as a gap between any two allows.

    They are kept between bottom and top if there is room.
    """
    groups: list[tuple[float, int]] = []  # the middle of each run of neighbours, and its size
    for height in ideal:
        groups.append((height, 1))
        while len(groups) > 1 and _overlap(groups[-2], groups[-1], gap):
            (a, n), (b, m) = groups[-2:]
            groups[-2:] = [((a * n + b * m) / (n + m), n + m)]
    heights: list[float] = []
    for middle, size in groups:
        heights += [middle + gap * (index - (size - 1) / 2) for index in range(size)]
    for index in range(len(heights)):
        least = heights[index - 1] + gap if index else bottom
        heights[index] = max(heights[index], least)
    for index in reversed(range(len(heights))):
        most = heights[index + 1] - gap if index + 1 < len(heights) else top
        heights[index] = min(heights[index], most)
    return heights


def _overlap(lower: tuple[float, int], upper: tuple[float, int], gap: float) -> bool:
    return upper[0] - lower[0] < gap * (lower[1] + upper[1]) / 2
