"""The page that a sheet is set on, how everything on it is written, and what a part takes of it."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import figure
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dhyan.insight.fonts import Lettering, settings
from dhyan.insight.heatmap import DOTS, GAP, MARGIN, POINTS
from dhyan.insight.theme import Theme

# Lengths are in points, 72 to the inch.
CAPTION, LEADING = 16.0, 14.5  # room for a title, and from line to line
TO_NAME = 12.0  # from a sign of a key to its name


class Figure(figure.Figure):
    """A figure that a notebook shows by itself."""

    def _repr_svg_(self) -> str:
        drawn = io.StringIO()
        with settings():
            self.savefig(drawn, format="svg", metadata={"Date": None})
        return drawn.getvalue()


class Page:
    """A figure of so many points, counted from its upper left, within a margin."""

    def __init__(self, wide: float, high: float, theme: Theme) -> None:
        self.wide, self.high, self.theme = wide + 2 * MARGIN, high + 2 * MARGIN, theme
        size = (self.wide / POINTS, self.high / POINTS)
        self.figure = Figure(figsize=size, dpi=DOTS, facecolor=theme.paper)
        self.axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, self.wide), ylim=(self.high, 0))
        self.axes.set_axis_off()

    def put(
        self,
        x: float,
        y: float,
        text: str,
        letters: Lettering,
        colour: str,
        *,
        ha: str = "left",
        turn: int = 0,
    ) -> None:
        """A text on its baseline."""
        style = letters.style(colour, ha=ha, rotation=turn)
        self.axes.text(x + MARGIN, y + MARGIN, text, **style)

    def plot(self, xs: Sequence[float], ys: Sequence[float], **looks: Any) -> None:
        """A line, or signs."""
        self.axes.plot([x + MARGIN for x in xs], [y + MARGIN for y in ys], **looks)

    def cells(
        self, x: float, y: float, wide: float, high: float, colours: Sequence[Sequence[str]]
    ) -> None:
        """Coloured cells with hairlines between them."""
        for row, line in enumerate(colours):
            for column, colour in enumerate(line):
                corner = (x + MARGIN + column * wide, y + MARGIN + row * high)
                box = Rectangle(corner, wide, high, facecolor=colour, linewidth=0.5)
                box.set_edgecolor(self.theme.hairline)
                self.axes.add_patch(box)

    def inset(self, x: float, y: float, wide: float, high: float) -> Axes:
        """A frame for a chart."""
        left, top = x + MARGIN, y + MARGIN
        share = (left / self.wide, 1 - (top + high) / self.high, wide / self.wide, high / self.high)
        return self.figure.add_axes(share)


@dataclass(frozen=True)
class Hand:
    """Letters, colours, and every text as the fonts can show it."""

    letters: Lettering
    theme: Theme
    shown: dict[str, str]

    def caption(self, page: Page, x: float, y: float, title: str) -> None:
        """What stands over a part."""
        page.put(x, y + 0.75 * self.letters.size, self.shown[title], self.letters, self.theme.grey)


@dataclass(frozen=True)
class Block:
    """A part's size, and what sets it with its upper left at a place of a page."""

    wide: float
    high: float
    draw: Callable[[Page, float, float], None]
    whole: bool = False  # nothing may stand beside it
    head: float | None = None  # of a table: how high what stands over its first row is


def key(signs: Sequence[tuple[dict[str, Any], str]], hand: Hand, widest: float) -> Block:
    """Signs, each before what it means, in lines."""
    letters, places = hand.letters, list[tuple[float, float]]()
    x, y, wide = 0.0, 0.0, 0.0
    for _, name in signs:
        long = TO_NAME + letters.measure(hand.shown[name])
        if x and x + long > widest:
            x, y = 0.0, y + LEADING
        places.append((x, y))
        wide = max(wide, x + long)
        x += long + GAP

    def draw(page: Page, x: float, y: float) -> None:
        for (looks, name), (across, down) in zip(signs, places, strict=True):
            level = y + down + LEADING / 2
            page.plot([x + across + 4], [level], **looks)
            left = x + across + TO_NAME
            page.put(left, level + letters.middle, hand.shown[name], letters, hand.theme.ink)

    return Block(wide, y + LEADING if signs else 0.0, draw)
