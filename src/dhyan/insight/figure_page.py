"""A page of a figure in points, from the top left: text, words in lines, boxes; cropped at the end."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from dhyan.insight.colors import LIGHT
from dhyan.insight.fonts import Font, drawable, families
from dhyan.insight.heatmap import DOTS, MARGIN, POINTS

WIDE = 440  # of lines of words
BODY, SMALL, TITLE = 11.0, 7.5, 13.0


@dataclass(frozen=True)
class Place:
    """A word in its line: left end and width, and the baseline."""

    x: int | float
    y: int | float
    width: int | float
    line: int

    @property
    def right(self) -> float:
        """The right end."""
        return self.x + self.width


class Page:
    """Axes whose units are points, y downward; `crop` sets the size of the figure at the end."""

    def __init__(self, texts: Iterable[str]) -> None:
        raw = list(texts)
        fonts = families("".join(raw))
        self._drawable = dict(zip(raw, drawable(raw, fonts), strict=True))
        self.font = Font(fonts, BODY)
        self.figure = Figure(figsize=(1 / POINTS, 1 / POINTS), dpi=DOTS, facecolor="white")
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, 1), ylim=(1, 0))
        self.axes.set_axis_off()

    def text(
        self,
        x: int | float,
        y: int | float,
        text: str,
        size: int | float = BODY,
        colour: str = LIGHT.ink,
        **more: Any,
    ) -> float:
        """Write a text on a baseline; returns where it ends."""
        font, shown = replace(self.font, size=size), self.label(text)
        style = font.style(colour, ha=more.pop("ha", "left"))
        self.axes.text(x, y, shown, **{**style, **more})
        return x + font.measure(shown)

    def label(self, text: str) -> str:
        """A text as it is drawn: the stand-in for characters that no font has."""
        return self._drawable.get(text, text)

    def width(self, text: str, size: int | float = BODY) -> float:
        """The width of a text."""
        return replace(self.font, size=size).measure(self.label(text))

    def box(
        self,
        x: int | float,
        y: int | float,
        wide: int | float,
        high: int | float,
        colour: str,
        **more: Any,
    ) -> None:
        """A filled rectangle; `rounded` is the radius of its corners, `edge` the colour of its line."""
        rounded, edge = more.pop("rounded", 0), more.pop("edge", "none")
        style = {"facecolor": colour, "edgecolor": edge, "clip_on": False, **more}
        shape = (
            FancyBboxPatch(
                (x, y), wide, high, boxstyle=f"round,pad=0,rounding_size={rounded}", **style
            )
            if rounded
            else Rectangle((x, y), wide, high, **style)
        )
        self.axes.add_patch(shape)

    def crop(self, width: int | float, height: int | float) -> Figure:
        """The figure, with a margin around so many points."""
        wide, high = ceil(width) + 2 * MARGIN, ceil(height) + 2 * MARGIN
        self.figure.set_size_inches(wide / POINTS, high / POINTS)
        self.axes.set(xlim=(-MARGIN, wide - MARGIN), ylim=(high - MARGIN, -MARGIN))
        return self.figure


def flow(
    widths: Sequence[int | float],
    *,
    top: int | float,
    line: int | float,
    space: int | float,
    wide: int | float = WIDE,
) -> Iterator[Place]:
    """The place of each word in lines of a width; the first baseline is at `top`."""
    x, number = 0.0, 0
    for width in widths:
        if x and x + width > wide:
            x, number = 0.0, number + 1
        yield Place(x, top + number * line, width, number)
        x += width + space
