"""Measures as curves: one line for each system, with a band of what chance would do to it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, log10, nan
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Style, drawn
from dhyan.insight.fonts import Lettering, drawable, families, settings
from dhyan.insight.heatmap import DOTS, LABEL, POINTS, SMALL, TITLE
from dhyan.insight.theme import LIGHT, Theme

STYLES: dict[Style, dict[str, Any]] = {
    "solid": {"linestyle": "-", "marker": "o"},
    "dashed": {"linestyle": (0, (4, 2)), "marker": "s"},
    "dotted": {"linestyle": (0, (1, 1.2)), "marker": "D"},
}
WIDE, HIGH, LEFT, TOP, BELOW, LINE = 400, 260, 40, 50, 38, 12.0  # in points
THREAD, SAMPLE, TO_LABEL = 18, 34, 40  # from the frame to where each ends

Drawn = tuple[str, tuple[float, float], dict[str, Any]]
"""The name of a line, where it ends, and how it looks."""


def curves(
    systems: Sequence[Curve], places: Sequence[str], *, title: str, across: str, up: str
) -> Figure:
    """Lines over the named places, each with its name at its end rather than in a legend."""
    if not systems or not any(value is not None for one in systems for value in one.values):
        raise UserError("there is nothing to draw: give at least one system with one value")
    texts = [title, across, up, *places, *(one.name for one in systems)]
    fonts = families("".join(texts))
    shown = dict(zip(texts, drawable(texts, fonts), strict=True))
    with settings():
        letters = Lettering(fonts, LABEL)
        names = [shown[one.name] for one in systems]
        high = max(HIGH, round(LINE * len(systems)) + 20)
        width = LEFT + WIDE + TO_LABEL + letters.widest(names) + 12
        height = TOP + high + BELOW
        figure = Figure(figsize=(width / POINTS, height / POINTS), dpi=DOTS, facecolor="white")
        axes = figure.add_axes((LEFT / width, BELOW / height, WIDE / width, high / height))
        drawing = Drawing(axes, letters, LIGHT, WIDE, high)
        drawing.frame([shown[one] for one in places], across=shown[across], up=shown[up])
        drawing.fill(systems, names)
        figure.text(
            12 / width,
            1 - 20 / height,
            shown[title],
            **Lettering(fonts, TITLE).style(LIGHT.ink),
        )
        return figure


@dataclass(frozen=True)
class Drawing:
    """A frame of so many points, and the lines within it."""

    axes: Axes
    letters: Lettering
    theme: Theme
    wide: int | float
    high: int | float
    log: bool = False

    def fill(self, systems: Sequence[Curve], names: Sequence[str]) -> None:
        """All lines, each with its name at its end."""
        looks = _looks(systems, self.theme)
        for one, own in zip(systems, looks, strict=True):
            _draw(self.axes, one, own, log=self.log)
        ends = [self._end(one) for one in systems]
        self._label(list(zip(names, ends, looks, strict=True)))

    def frame(self, places: Sequence[str], *, across: str, up: str) -> None:
        """A place for every point, and hairlines to read heights by."""
        axes, theme = self.axes, self.theme
        small: dict[str, Any] = {
            "family": self.letters.families,
            "size": SMALL + 1,
            "color": theme.grey,
            "parse_math": False,
        }
        axes.set(facecolor=theme.paper, yscale="log" if self.log else "linear")
        wide = replace(self.letters, size=SMALL + 1).widest(places) + 4 if places else 0.0
        every = max(ceil(wide * len(places) / self.wide), 1)
        axes.set_xticks(range(0, len(places), every), places[::every], **small)
        axes.set_xlim(-0.3, max(len(places) - 1, 0) + 0.3)
        axes.tick_params(which="both", length=0, labelcolor=theme.grey, labelsize=SMALL + 1)
        axes.grid(axis="y", color=theme.hairline, linewidth=0.7)
        axes.set_axisbelow(True)
        for side, spine in axes.spines.items():
            spine.set(visible=side == "bottom", color=theme.grey, linewidth=0.7)
        axes.set_xlabel(across, **{**small, "size": LABEL}, labelpad=6)
        axes.text(0, 1.015, up, transform=axes.transAxes, **{**small, "size": LABEL})

    def _end(self, one: Curve) -> tuple[float, float]:
        """Where a line ends: at its last value, or in the corner if it has none."""
        values = gapped(one.values, log=self.log)
        known = [(float(x), y) for x, y in enumerate(values) if isfinite(y)]
        corner = (float(self.axes.get_xlim()[1]), float(self.axes.get_ylim()[0]))
        return known[-1] if known else corner

    def _label(self, lines: Sequence[Drawn]) -> None:
        """Names as near the ends of their lines as the others leave room, joined by threads."""
        axes = self.axes
        bottom, top, left, right = map(float, (*axes.get_ylim(), *axes.get_xlim()))
        scaled = [self._scaled(y) for y in (bottom, top)]
        tall, step = (scaled[1] - scaled[0]) / self.high, (right - left) / self.wide
        rising = sorted(lines, key=lambda line: line[1][1])
        wanted = [self._scaled(end) for _, (_, end), _ in rising]
        heights = spread(wanted, LINE * tall, *scaled)
        for (name, (x, end), looks), height in zip(rising, heights, strict=True):
            y, under = self._unscaled(height), self._unscaled(height - self.letters.middle * tall)
            thread = {"color": looks["color"], "linewidth": 0.6, "alpha": 0.6, "clip_on": False}
            axes.plot([x, right, right + THREAD * step], [end, end, y], **thread)
            sample = [right + far * step for far in (THREAD, SAMPLE)]
            axes.plot(sample, [y, y], **{**looks, "marker": "", "clip_on": False}, linewidth=1.5)
            place = (right + TO_LABEL * step, under)
            axes.text(*place, name, **self.letters.style(self.theme.ink))
        axes.set(xlim=(left, right), ylim=(bottom, top))

    def _scaled(self, value: float) -> float:
        return log10(value) if self.log else value

    def _unscaled(self, height: float) -> float:
        return 10**height if self.log else height


def _looks(systems: Sequence[Curve], theme: Theme) -> list[dict[str, Any]]:
    """A colour for each; where there are not enough, those of one style have different ones."""
    seen, found = Counter[str](), []
    for number, one in enumerate(systems):
        place = number if len(systems) <= len(theme.lines) else seen[one.style]
        found.append({**STYLES[one.style], "color": theme.lines[place % len(theme.lines)]})
        seen[one.style] += 1
    return found


def gapped(values: Sequence[int | float | None], *, log: bool = False) -> list[float]:
    """The values, with nan for each that is missing or cannot be drawn."""
    return [float(one) if one is not None and drawn(one, log=log) else nan for one in values]


def _draw(axes: Axes, one: Curve, looks: dict[str, Any], *, log: bool) -> None:
    """The line, broken where a value is missing, and its band."""
    bands = [
        (x, low, high)
        for x, (low, high) in enumerate(zip(one.lows, one.highs, strict=True))
        if low is not None and high is not None
    ]
    if bands:
        xs, lows, highs = zip(*bands, strict=True)
        axes.fill_between(xs, lows, highs, color=looks["color"], alpha=0.1, linewidth=0)
    values = gapped(one.values, log=log)
    axes.plot(range(len(values)), values, **looks, linewidth=1.5, markersize=3.2, clip_on=False)


def spread(wanted: Sequence[float], gap: float, bottom: float, top: float) -> list[float]:
    """Heights in rising order, as near those wanted as they may be with a gap between any two.

    They are kept between bottom and top if there is room.
    """
    groups: list[tuple[float, int]] = []  # the middle of each run of neighbours, and its size
    for height in wanted:
        groups.append((height, 1))
        while len(groups) > 1 and _overlap(groups[-2], groups[-1], gap):
            (a, n), (b, m) = groups[-2:]
            groups[-2:] = [((a * n + b * m) / (n + m), n + m)]
    found: list[float] = []
    for middle, size in groups:
        found += [middle + gap * (place - (size - 1) / 2) for place in range(size)]
    for place in range(len(found)):
        least = found[place - 1] + gap if place else bottom
        found[place] = max(found[place], least)
    for place in reversed(range(len(found))):
        most = found[place + 1] - gap if place + 1 < len(found) else top
        found[place] = min(found[place], most)
    return found


def _overlap(one: tuple[float, int], other: tuple[float, int], gap: float) -> bool:
    return other[0] - one[0] < gap * (one[1] + other[1]) / 2
