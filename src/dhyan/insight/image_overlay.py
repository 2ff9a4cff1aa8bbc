"""Image overlay: a picture for each word of the output, bright where the word attends.

A small multiple per word, as in Xu et al. (2015): a veil lies over the picture, thinner the larger the
weight; the largest weight of a word has none.
"""

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, UInt8
from numpy import ndarray
from rich.text import Text
from torch import Tensor

from dhyan.errors import NO_ATTENTION, UserError
from dhyan.insight.colors import LIGHT
from dhyan.insight.terminal_heatmap import FAINT, PLAIN, clean, draw_shades
from dhyan.insight.trace import Trace
from dhyan.insight.traced_media import TracedPicture
from dhyan.special_tokens import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VEIL = (11 / 255, 26 / 255, 51 / 255)
OPACITY = 0.8  # of the veil where there is no weight
LEGEND = "bright: attended; the number is the largest weight of a frame"
LINE_SHAPE = 3.5  # width by height, from which a picture is a line of text
LINE_WIDTH, PANEL_WIDTH, MAX_LINE_HEIGHT = 420, 136, 120  # in points


@dataclass(frozen=True)
class OverlayPanel:
    """A word of the output, and its weight on each frame of the picture."""

    word: str
    weights: Float[Tensor, " S"]

    @property
    def largest(self) -> float:
        """The largest weight of a frame."""
        return float(self.weights.max())

    def shares(self) -> Float[Tensor, " S"]:
        """The weights as shares of the largest."""
        return self.weights / self.weights.max().clamp_min(1e-9)


def overlay_panels(trace: Trace) -> tuple[TracedPicture, list[OverlayPanel]]:
    """The picture of a trace and a panel for each word that is no special token."""
    attention = trace.cross_weights()
    if trace.picture is None:
        raise UserError("the source is no picture: its attention is a heat map, not an overlay")
    if attention is None:
        raise UserError(f"{NO_ATTENTION}; there is no overlay to draw")
    rows = zip(trace.target.words, attention.weights[0], strict=True)
    return trace.picture, [OverlayPanel(word, row) for word, row in rows if word not in NAMES]


def draw_in_terminal(trace: Trace, width: int = 80, colour: bool = True) -> Text:
    """For each word the frames as blocks: a strip of columns, or rows of patches."""
    picture, panels = overlay_panels(trace)
    rows = len({box[1] for box in picture.boxes})
    pens = FAINT if colour else PLAIN
    blocks = []
    for panel in panels:
        grid = panel.shares().unflatten(0, (rows, -1))
        most = width - 2 if rows == 1 else max(width // 2 - 1, 1)
        grid = resample(grid, most)
        shades = grid if rows == 1 else grid.repeat_interleave(2, dim=1)
        title = Text.assemble(clean(panel.word), (f"  {panel.largest:.2f}", pens))
        blocks.append([title, *draw_shades(shades, colour=colour)])
    across = 1 if rows == 1 else max(1, width // (2 * (len(picture.boxes) // rows) + 3))
    lines = [
        line
        for group in [blocks[at : at + across] for at in range(0, len(blocks), across)]
        for line in _side_by_side(group, width // across)
    ]
    return Text("\n").join([*lines, Text(LEGEND, pens)])


def resample(grid: Float[Tensor, "R C"], most: int) -> Float[Tensor, "R _"]:
    """At most so many columns, each the largest of those it stands for."""
    columns = grid.shape[1]
    if columns <= most:
        return grid
    edges = [round(at * columns / most) for at in range(most + 1)]
    parts = [grid[:, first:last].amax(dim=1) for first, last in zip(edges, edges[1:], strict=False)]
    return torch.stack(parts, dim=1)


def draw(trace: Trace) -> "Figure":
    """A panel for each word, with the word and its largest weight above it."""
    from dhyan.insight.figure_page import BODY, SMALL, Page
    from dhyan.insight.fonts import settings

    picture, panels = overlay_panels(trace)
    shape = picture.width / picture.height
    is_line = shape > LINE_SHAPE
    wide = min(LINE_WIDTH, MAX_LINE_HEIGHT * shape) if is_line else PANEL_WIDTH
    high, gap, title = wide / shape, 14, 1.7 * BODY
    across = 1 if is_line else min(4, len(panels) + 1)
    with settings():
        page = Page([*(panel.word for panel in panels), "source"])
        pixels = _pixels(picture)
        with_source: list[OverlayPanel | None] = [None, *panels]
        for number, panel in enumerate(with_source):
            row, column = divmod(number, across)
            x, y = column * (wide + gap), row * (high + title + gap) + title
            name, colour = (panel.word, LIGHT.ink) if panel else ("source", LIGHT.grey)
            end = page.text(x, y - 0.5 * BODY, name, BODY, colour)
            if panel:
                page.text(end + 5, y - 0.5 * BODY, f"{panel.largest:.2f}", SMALL, LIGHT.grey)
            extent = (x, x + wide, y + high, y)
            page.axes.imshow(pixels, extent=extent, interpolation="nearest", clip_on=False)
            if panel:
                veil = _veil(picture, panel.shares())
                page.axes.imshow(veil, extent=extent, interpolation="nearest", clip_on=False)
            page.box(x, y, wide, high, "none", edge=LIGHT.hairline, linewidth=0.6)
        page.axes.set_aspect("auto")
        rows = -(-(len(panels) + 1) // across)
        bottom = rows * (high + title + gap)
        end = page.text(0, bottom + SMALL, LEGEND, SMALL, LIGHT.grey)
        return page.crop(max(across * (wide + gap) - gap, end), bottom + SMALL + 2)


def _pixels(picture: TracedPicture) -> UInt8[ndarray, "Y X 3"]:
    from PIL import Image

    with Image.open(BytesIO(b64decode(picture.uri.partition(",")[2])), formats=("PNG",)) as image:
        return np.asarray(image.convert("RGB"))


def _veil(picture: TracedPicture, shares: Float[Tensor, " S"]) -> Float[ndarray, "Y X 4"]:
    """The veil in pixels, with its opacity in the last place."""
    veil = np.empty((picture.height, picture.width, 4))
    veil[...] = (*VEIL, OPACITY)
    for (left, top, right, bottom), share in zip(picture.boxes, shares.tolist(), strict=True):
        part = np.s_[round(top) : round(bottom), round(left) : round(right), 3]
        veil[part] = OPACITY * (1 - share)
    return veil


def _side_by_side(blocks: list[list[Text]], width: int) -> Iterator[Text]:
    for parts in zip_longest(*blocks, fillvalue=Text()):
        line = Text()
        for part in parts:
            line.append_text(part)
            line.append(" " * max(width - part.cell_len, 1))
        line.rstrip()
        yield line
    yield Text()
