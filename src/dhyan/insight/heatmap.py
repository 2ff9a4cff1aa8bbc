"""Attention as a figure: heat maps set like the ones in a paper, saved as PNG, SVG or PDF."""

import contextlib
import io
import math
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy import ndarray

from dhyan.attention_maps import AttentionMap
from dhyan.errors import UserError
from dhyan.insight.colormap import STEPS, TABLE, ink
from dhyan.insight.fonts import Lettering, drawable, families, settings, shorten
from dhyan.insight.theme import LIGHT

# Lengths are in points, 72 to the inch; three dots to the point keep the cells of a PNG sharp.
POINTS, DOTS = 72, 216
MARGIN, GAP, PAD = 12, 18, 5
TITLE, LABEL, SMALL = 11.5, 9.5, 7.0
LONGEST_LABEL, NARROWEST_TITLE, ROOM_FOR_NUMBERS = 130, 260, 22
BAR, SHORTEST_BAR, LONGEST_BAR = 5, 60, 120
BLACK, GREY, HAIRLINE = LIGHT.ink, LIGHT.grey, LIGHT.hairline
BLUES: dict[str, Any] = {"cmap": ListedColormap(TABLE), "vmin": 0, "vmax": 1, "clip_on": False}
# What would differ from one drawing of the same figure to the next is left out.
UNDATED = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}

Words = list[str]
Panel = tuple[str, Float[ndarray, "T S"]]


def heatmap(*maps: AttentionMap, title: str = "") -> Figure:
    """Weights from white for 0 to navy for 1, source words above, target words at the left.

    Several heads, or several maps of the same two sentences, become panels that share labels.
    """
    if not maps or not all(each.weights.numel() for each in maps):
        raise UserError(
            "there is no attention to draw: give a map of at least one word by one word"
        )
    source, target = maps[0].source, maps[0].target
    if any((each.source, each.target) != (source, target) for each in maps):
        raise UserError(
            "these maps are of different words: draw a figure for each pair of sentences"
        )
    said = [title, *source, *target, *(_short(each.name) for each in maps)]
    fonts = families("".join(said))
    shown = dict(zip(said, drawable(said, fonts), strict=True))
    with settings():
        letters = Lettering(fonts, LABEL)
        label = {word: shorten(shown[word], LONGEST_LABEL, letters.measure) for word in shown}
        above, beside = [label[word] for word in source], [label[word] for word in target]
        figure = _page(list(_panels(maps, label)), above, beside, letters)
        _cut(figure, shown[title], replace(letters, size=TITLE))
        return figure


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the suffix; the same figure gives the same bytes."""
    path = Path(path)
    kind = path.suffix.lower()[1:]
    if kind not in UNDATED:
        raise UserError(f"{path}: a figure is saved as .png, .svg or .pdf")
    drawn = draw_bytes(figure, kind)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        partial.write_bytes(drawn)
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise UserError(f"{path}: the figure cannot be written ({error.strerror})") from error


def draw_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as the bytes of a PNG, SVG or PDF, the same for the same figure."""
    drawn = io.BytesIO()
    with settings():
        figure.savefig(drawn, format=kind, dpi=DOTS, metadata=UNDATED[kind])
    return drawn.getvalue()


def _panels(maps: Sequence[AttentionMap], label: dict[str, str]) -> Iterator[Panel]:
    """Every head's weights, under a caption that says no more than tells them apart."""
    for each in maps:
        heads = each.weights.detach().cpu().double().numpy()
        for number, weights in enumerate(heads, start=1):
            names = [label[_short(each.name)]] * (len(maps) > 1) + [f"head {number}"] * (
                len(heads) > 1
            )
            yield " · ".join(names), weights


def _short(where: str) -> str:
    """`decoder.layers.0.cross_attention` as `decoder.0.cross`."""
    return where.replace("layers.", "").removesuffix("_attention")


def _across(panels: int, columns: int, rows: int) -> int:
    """How many panels to set side by side: full rows, and a picture wider than it is high."""
    square = panels * (rows + 2) / (columns + 2)
    unease = [
        abs(math.log(across**2 / square / 1.6)) + -panels % across / panels
        for across in range(1, panels + 1)
    ]
    return 1 + unease.index(min(unease))


def _cell(across: int, source: Words, target: Words, letters: Lettering) -> int:
    """The side of a cell: what the page bears, or more if that keeps the source words level."""
    if across > 1:
        return round(min(24, max(9, 640 / len(source) / across)))
    words, level = max(len(source), len(target)), math.ceil(letters.widest(source)) + 5
    return max(26, level) if words <= 12 and level <= 38 else round(min(26, max(10, 600 / words)))


def _page(panels: list[Panel], source: Words, target: Words, letters: Lettering) -> Figure:
    """Set everything from the first cell outwards."""
    figure = Figure(figsize=(1 / POINTS, 1 / POINTS), dpi=DOTS, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 1), ylim=(1, 0))
    axes.set_axis_off()
    across = _across(len(panels), len(source), len(target))
    cell = _cell(across, source, target, letters)
    letters = replace(letters, size=min(LABEL, 0.8 * cell))
    wide, high = cell * len(source), cell * len(target)
    step = GAP + max(wide, math.ceil(letters.widest([caption for caption, _ in panels])))
    for number, (caption, weights) in enumerate(panels):
        row, column = divmod(number, across)
        grid = _Grid(axes, letters, cell, column * step, row * (high + 2 * GAP))
        grid.fill(weights)
        if row == 0:
            grid.put_above(source, slanted=len(panels) == 1)
        if column == 0:
            grid.put_beside(target)
        if caption:
            grid.put_below(caption, wide, high)
    _bar(axes, across * step, high, replace(letters, size=SMALL + 0.5))
    return figure


@dataclass(frozen=True)
class _Grid:
    """One panel: where its first cell is, and what is set in it and around it."""

    axes: Axes
    letters: Lettering
    cell: int
    x: int
    y: int

    def fill(self, weights: Float[ndarray, "T S"]) -> None:
        down, across = (np.arange(count + 1) * self.cell for count in weights.shape)
        mesh = self.axes.pcolormesh(self.x + across, self.y + down, weights, **BLUES)
        mesh.set(edgecolors=HAIRLINE, linewidth=1 / 3)
        small = replace(self.letters, size=SMALL)
        for (row, column), weight in np.ndenumerate(weights):
            said = f"{weight:.2f}".removeprefix("0").replace("1.00", "1")
            if said != ".00" and self.cell >= ROOM_FOR_NUMBERS:
                x, y = self.x + (column + 0.5) * self.cell, self.y + (row + 0.5) * self.cell
                colour = GREY if weight < 0.1 else ink(weight)
                self.axes.text(x, y + small.middle, said, **small.style(colour, ha="center"))

    def put_above(self, words: Words, *, slanted: bool) -> None:
        level = self.letters.widest(words) <= self.cell - 3
        turn = 0 if level else 45 if slanted and self.cell > 2 * self.letters.size else 90
        y = self.y - PAD - 0.2 * self.letters.size * level
        aside = self.letters.middle * math.sin(math.radians(turn))
        style = self.letters.style(BLACK, ha="center" if level else "left", rotation=turn)
        for column, word in enumerate(words):
            self.axes.text(self.x + (column + 0.5) * self.cell + aside, y, word, **style)

    def put_beside(self, words: Words) -> None:
        for row, word in enumerate(words):
            y = self.y + (row + 0.5) * self.cell + self.letters.middle
            self.axes.text(self.x - PAD, y, word, **self.letters.style(BLACK, ha="right"))

    def put_below(self, caption: str, wide: int, high: int) -> None:
        x, y = self.x + wide / 2, self.y + high + 1.6 * self.letters.size
        self.axes.text(x, y, caption, **self.letters.style(GREY, ha="center"))


def _bar(axes: Axes, x: int, height: int, letters: Lettering) -> None:
    """The colours from 0 to 1; strokes hide the seams that some viewers show between steps."""
    height = min(LONGEST_BAR, max(SHORTEST_BAR, height))
    down, steps = np.linspace(0, height, STEPS + 1), np.linspace(1, 0, STEPS)[:, None]
    axes.pcolormesh([x, x + BAR], down, steps, **BLUES).set(edgecolors="face", linewidth=1)
    for weight in (0, 0.5, 1):
        y = height * (1 - weight) + letters.middle
        axes.text(x + BAR + PAD, y, f"{weight:g}", **letters.style(GREY))


def _cut(figure: Figure, title: str, letters: Lettering) -> None:
    """Put the title over what was set, and cut the page around it all."""
    left, top, right, _ = _extent(figure)
    lines = letters.wrap(title, max(NARROWEST_TITLE, right - left))
    for up, line in enumerate(reversed(lines)):
        figure.axes[0].text(left, top - GAP - 1.5 * up * TITLE, line, **letters.style(BLACK))
    left, top, right, bottom = _extent(figure, MARGIN)
    figure.set_size_inches((right - left) / POINTS, (bottom - top) / POINTS)
    figure.axes[0].set(xlim=(left, right), ylim=(bottom, top))


def _extent(figure: Figure, margin: int = 0) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of what is set, in whole points down from the first cell."""
    x0, y0, x1, y1 = figure.get_tightbbox().extents * POINTS
    left, top = math.floor(x0) - margin, math.floor(1 - y1) - margin
    return left, top, math.ceil(x1) + margin, math.ceil(1 - y0) + margin
