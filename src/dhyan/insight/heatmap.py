"""Attention heat maps as figures, saved as PNG, SVG or PDF."""

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

from dhyan.attention_maps import AttentionMap, AttentionRole
from dhyan.errors import UserError
from dhyan.insight.colors import LIGHT, STEPS, TABLE, ink
from dhyan.insight.fonts import Font, drawable, families, settings, shorten

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

ROLES: dict[AttentionRole, str] = {
    "encoder_self": "encoder self",
    "decoder_self": "decoder self",
    "cross": "cross",
}

Words = list[str]
Panel = tuple[str, Float[ndarray, "T S"]]


def heatmap(*maps: AttentionMap, title: str = "", captions: Sequence[str] = ()) -> Figure:
    """Weights from white for 0 to navy for 1, source words above, target words at the left.

    Several heads, or several maps of the same two sentences, become panels that share labels.
    A map's caption is its role and layer, unless `captions` gives one for each map.

    >>> maps = dhyan.explain(dhyan.load(run_folder), "seven nine")
    >>> dhyan.heatmap(*maps, title="seven nine").savefig(folder / "attention.png")
    """
    for own in maps:
        if not isinstance(own, AttentionMap):
            given = f"{type(own).__name__} is no attention map"
            raise UserError(f"{given}; write dhyan.heatmap(*dhyan.explain(translator, sentence))")
    if not maps or not all(attention.weights.numel() for attention in maps):
        raise UserError(
            "there is no attention to draw: give a map of at least one word by one word (a model "
            "without attention has none)"
        )
    source, target = maps[0].source, maps[0].target
    if any((attention.source, attention.target) != (source, target) for attention in maps):
        raise UserError(
            "these maps are of different words: draw a figure for each pair of sentences"
        )
    names = captions or _captions(maps)
    raw = [title, *source, *target, *names]
    fonts = families("".join(raw))
    texts = dict(zip(raw, drawable(raw, fonts), strict=True))
    with settings():
        font = Font(fonts, LABEL)
        labels = {word: shorten(texts[word], LONGEST_LABEL, font.measure) for word in texts}
        columns, rows = [labels[word] for word in source], [labels[word] for word in target]
        panels = list(_panels(maps, [labels[name] for name in names]))
        figure = _page(panels, columns, rows, font)
        _add_title(figure, texts[title], replace(font, size=TITLE))
        return figure


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the suffix; the same figure gives the same bytes."""
    path = Path(path)
    suffix = path.suffix.lower()[1:]
    if suffix not in UNDATED:
        raise UserError(f"{path}: a figure is saved as .png, .svg or .pdf")
    data = draw_bytes(figure, suffix)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise UserError(f"{path}: the figure cannot be written ({error.strerror})") from error


def draw_bytes(figure: Figure, suffix: str) -> bytes:
    """A figure as the bytes of a PNG, SVG or PDF, the same for the same figure."""
    buffer = io.BytesIO()
    with settings():
        figure.savefig(buffer, format=suffix, dpi=DOTS, metadata=UNDATED[suffix])
    return buffer.getvalue()


def _captions(maps: Sequence[AttentionMap]) -> list[str]:
    """The role and layer of each map, and its model where several are drawn."""
    several = len({attention.member for attention in maps}) > 1
    return [
        f"{ROLES[attention.role]}, layer {attention.layer}"
        + (f", model {attention.member + 1}" if several else "")
        for attention in maps
    ]


def _panels(maps: Sequence[AttentionMap], captions: Sequence[str]) -> Iterator[Panel]:
    """The weights of every head, each under the shortest caption that tells them apart."""
    for attention, caption in zip(maps, captions, strict=True):
        heads = attention.weights.detach().cpu().double().numpy()
        for number, weights in enumerate(heads, start=1):
            parts = [caption] * (len(maps) > 1) + [f"head {number}"] * (len(heads) > 1)
            yield " · ".join(parts), weights


def _across(panels: int, columns: int, rows: int) -> int:
    """How many panels to set side by side: full rows, and a picture wider than it is high."""
    square = panels * (rows + 2) / (columns + 2)
    penalties = [
        abs(math.log(across**2 / square / 1.6)) + -panels % across / panels
        for across in range(1, panels + 1)
    ]
    return 1 + penalties.index(min(penalties))


def _cell(across: int, source: Words, target: Words, font: Font) -> int:
    """The side of a cell: what fits the page, or more if that keeps source words horizontal."""
    if across > 1:
        return round(min(24, max(9, 640 / len(source) / across)))
    words, level = max(len(source), len(target)), math.ceil(font.widest(source)) + 5
    return max(26, level) if words <= 12 and level <= 38 else round(min(26, max(10, 600 / words)))


def _page(panels: list[Panel], source: Words, target: Words, font: Font) -> Figure:
    """Draw every panel with its labels, and the colour bar; the first cell is at the origin."""
    figure = Figure(figsize=(1 / POINTS, 1 / POINTS), dpi=DOTS, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 1), ylim=(1, 0))
    axes.set_axis_off()
    across = _across(len(panels), len(source), len(target))
    cell = _cell(across, source, target, font)
    font = replace(font, size=min(LABEL, 0.8 * cell))
    wide, high = cell * len(source), cell * len(target)
    step = GAP + max(wide, math.ceil(font.widest([caption for caption, _ in panels])))
    for number, (caption, weights) in enumerate(panels):
        row, column = divmod(number, across)
        grid = _Grid(axes, font, cell, column * step, row * (high + 2 * GAP))
        grid.fill(weights)
        if row == 0:
            grid.label_columns(source, slanted=len(panels) == 1)
        if column == 0:
            grid.label_rows(target)
        if caption:
            grid.add_caption(caption, wide, high)
    _bar(axes, across * step, high, replace(font, size=SMALL + 0.5))
    return figure


@dataclass(frozen=True)
class _Grid:
    """One panel: the position of its first cell, its cells, labels and caption."""

    axes: Axes
    font: Font
    cell: int
    x: int
    y: int

    def fill(self, weights: Float[ndarray, "T S"]) -> None:
        down, across = (np.arange(count + 1) * self.cell for count in weights.shape)
        mesh = self.axes.pcolormesh(self.x + across, self.y + down, weights, **BLUES)
        mesh.set(edgecolors=HAIRLINE, linewidth=1 / 3)
        small = replace(self.font, size=SMALL)
        for (row, column), weight in np.ndenumerate(weights):
            number = f"{weight:.2f}".removeprefix("0").replace("1.00", "1")
            if number != ".00" and self.cell >= ROOM_FOR_NUMBERS:
                x, y = self.x + (column + 0.5) * self.cell, self.y + (row + 0.5) * self.cell
                colour = GREY if weight < 0.1 else ink(weight)
                self.axes.text(x, y + small.middle, number, **small.style(colour, ha="center"))

    def label_columns(self, words: Words, *, slanted: bool) -> None:
        level = self.font.widest(words) <= self.cell - 3
        turn = 0 if level else 45 if slanted and self.cell > 2 * self.font.size else 90
        y = self.y - PAD - 0.2 * self.font.size * level
        aside = self.font.middle * math.sin(math.radians(turn))
        style = self.font.style(BLACK, ha="center" if level else "left", rotation=turn)
        for column, word in enumerate(words):
            self.axes.text(self.x + (column + 0.5) * self.cell + aside, y, word, **style)

    def label_rows(self, words: Words) -> None:
        for row, word in enumerate(words):
            y = self.y + (row + 0.5) * self.cell + self.font.middle
            self.axes.text(self.x - PAD, y, word, **self.font.style(BLACK, ha="right"))

    def add_caption(self, caption: str, wide: int, high: int) -> None:
        x, y = self.x + wide / 2, self.y + high + 1.6 * self.font.size
        self.axes.text(x, y, caption, **self.font.style(GREY, ha="center"))


def _bar(axes: Axes, x: int, height: int, font: Font) -> None:
    """The colour bar; strokes hide the seams that some viewers show between steps."""
    height = min(LONGEST_BAR, max(SHORTEST_BAR, height))
    down, steps = np.linspace(0, height, STEPS + 1), np.linspace(1, 0, STEPS)[:, None]
    axes.pcolormesh([x, x + BAR], down, steps, **BLUES).set(edgecolors="face", linewidth=1)
    for weight in (0, 0.5, 1):
        y = height * (1 - weight) + font.middle
        axes.text(x + BAR + PAD, y, f"{weight:g}", **font.style(GREY))


def _add_title(figure: Figure, title: str, font: Font) -> None:
    """Put the title above everything drawn, and crop the page to it with a margin."""
    left, top, right, _ = _extent(figure)
    lines = font.wrap(title, max(NARROWEST_TITLE, right - left))
    for up, line in enumerate(reversed(lines)):
        figure.axes[0].text(left, top - GAP - 1.5 * up * TITLE, line, **font.style(BLACK))
    left, top, right, bottom = _extent(figure, MARGIN)
    figure.set_size_inches((right - left) / POINTS, (bottom - top) / POINTS)
    figure.axes[0].set(xlim=(left, right), ylim=(bottom, top))


def _extent(figure: Figure, margin: int = 0) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of everything drawn, in whole points from the first cell."""
    x0, y0, x1, y1 = figure.get_tightbbox().extents * POINTS
    left, top = math.floor(x0) - margin, math.floor(1 - y1) - margin
    return left, top, math.ceil(x1) + margin, math.ceil(1 - y0) + margin
