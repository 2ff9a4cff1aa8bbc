"""Layout of lesson figures: canvas, fonts, colours, block sizes and legends."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import figure
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dhyan.insight.colors import Theme
from dhyan.insight.fonts import Font, settings
from dhyan.insight.heatmap import DOTS, GAP, MARGIN, POINTS

# Lengths are in points, 72 to the inch.
CAPTION, LEADING = 16.0, 14.5  # height of a caption, and of a line
TO_NAME = 12.0  # from a marker of a legend to its name


class Figure(figure.Figure):
    """A figure that a notebook shows by itself."""

    def _repr_svg_(self) -> str:
        buffer = io.StringIO()
        with settings():
            self.savefig(buffer, format="svg", metadata={"Date": None})
        return buffer.getvalue()


class Canvas:
    """A figure of so many points, counted from its upper left, within a margin."""

    def __init__(self, wide: float, high: float, theme: Theme) -> None:
        self.wide, self.high, self.theme = wide + 2 * MARGIN, high + 2 * MARGIN, theme
        size = (self.wide / POINTS, self.high / POINTS)
        self.figure = Figure(figsize=size, dpi=DOTS, facecolor=theme.paper)
        self.axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, self.wide), ylim=(self.high, 0))
        self.axes.set_axis_off()

    def text(
        self,
        x: float,
        y: float,
        text: str,
        font: Font,
        colour: str,
        *,
        ha: str = "left",
        turn: int = 0,
    ) -> None:
        """Draw a text on its baseline."""
        style = font.style(colour, ha=ha, rotation=turn)
        self.axes.text(x + MARGIN, y + MARGIN, text, **style)

    def plot(self, xs: Sequence[float], ys: Sequence[float], **style: Any) -> None:
        """Draw a line, or markers."""
        self.axes.plot([x + MARGIN for x in xs], [y + MARGIN for y in ys], **style)

    def cells(
        self, x: float, y: float, wide: float, high: float, colours: Sequence[Sequence[str]]
    ) -> None:
        """Draw coloured cells with hairlines between them."""
        for row, line in enumerate(colours):
            for column, colour in enumerate(line):
                corner = (x + MARGIN + column * wide, y + MARGIN + row * high)
                box = Rectangle(corner, wide, high, facecolor=colour, linewidth=0.5)
                box.set_edgecolor(self.theme.hairline)
                self.axes.add_patch(box)

    def inset(self, x: float, y: float, wide: float, high: float) -> Axes:
        """Draw a frame for a chart."""
        left, top = x + MARGIN, y + MARGIN
        share = (left / self.wide, 1 - (top + high) / self.high, wide / self.wide, high / self.high)
        return self.figure.add_axes(share)


@dataclass(frozen=True)
class FigureStyle:
    """Font, theme, and every text with the characters that the fonts can draw."""

    font: Font
    theme: Theme
    texts: dict[str, str]

    def caption(self, canvas: Canvas, x: float, y: float, title: str) -> None:
        """The caption above a block."""
        canvas.text(x, y + 0.75 * self.font.size, self.texts[title], self.font, self.theme.grey)


@dataclass(frozen=True)
class SizedBlock:
    """The size of a block, and the function that draws it with its upper left at a position."""

    width: float
    height: float
    draw: Callable[[Canvas, float, float], None]
    full_width: bool = False
    head: float | None = None  # of a table: the height above its first row


def legend(
    entries: Sequence[tuple[dict[str, Any], str]], style: FigureStyle, widest: float
) -> SizedBlock:
    """A legend: markers, each before its name, in lines."""
    font, positions = style.font, list[tuple[float, float]]()
    x, y, wide = 0.0, 0.0, 0.0
    for _, name in entries:
        long = TO_NAME + font.measure(style.texts[name])
        if x and x + long > widest:
            x, y = 0.0, y + LEADING
        positions.append((x, y))
        wide = max(wide, x + long)
        x += long + GAP

    def draw(canvas: Canvas, x: float, y: float) -> None:
        for (marker, name), (across, down) in zip(entries, positions, strict=True):
            level = y + down + LEADING / 2
            canvas.plot([x + across + 4], [level], **marker)
            left = x + across + TO_NAME
            canvas.text(left, level + font.middle, style.texts[name], font, style.theme.ink)

    return SizedBlock(wide, y + LEADING if entries else 0.0, draw)
