"""Waveform: the attention of speech frames over the characters of a text, and the sound they become."""

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from dhyan.errors import NO_ATTENTION, UserError
from dhyan.insight.colors import LIGHT
from dhyan.insight.image_overlay import resample
from dhyan.insight.terminal_heatmap import FAINT, PLAIN, clean, draw_shades
from dhyan.insight.trace import Trace
from dhyan.special_tokens import NAMES

if TYPE_CHECKING:
    from jaxtyping import Float
    from matplotlib.figure import Figure
    from torch import Tensor

ROOM = 6  # cells of a character's label
WIDE, HIGH, ROW, LABEL_ROW = 460, 54, 11, 8.0  # in points
NO_SOUND = "no codebook beside the model: no sound"


def frame_weights(trace: Trace) -> "tuple[list[str], Float[Tensor, 'S T']]":
    """The characters of the text, and their weight in each frame of the sound."""
    attention = trace.cross_weights(words=False)
    if attention is None:
        raise UserError(f"{NO_ATTENTION}; there is no map to draw")
    frames = [at for at, symbol in enumerate(attention.target) if symbol not in NAMES]
    return list(attention.source), attention.weights[0, frames].T


def draw_in_terminal(trace: Trace, width: int = 80, colour: bool = True) -> Text:
    """A line for each character, with the time from left to right."""
    characters, weights = frame_weights(trace)
    pens = FAINT if colour else PLAIN
    shades = draw_shades(resample(weights, max(width - ROOM, 10)), colour=colour)
    lines = [
        Text.assemble((f"{clean(character):>{ROOM - 1}.{ROOM - 1}} ", pens), shade)
        for character, shade in zip(characters, shades, strict=True)
    ]
    note = f"{weights.shape[1]} frames"
    note += f", {trace.sound.seconds:.2f} s" if trace.sound else f"; {NO_SOUND}"
    return Text("\n").join([*lines, Text(note, pens)])


def draw(trace: Trace) -> "Figure":
    """The waveform above the map, if there is a sound; the time goes from left to right."""
    from dhyan.insight.figure_page import BODY, SMALL, Page
    from dhyan.insight.fonts import settings, shorten
    from dhyan.insight.heatmap import BLUES

    characters, weights = frame_weights(trace)
    with settings():
        page = Page([*characters, trace.text])
        page.text(0, 0.6 * BODY, shorten(page.label(trace.text), WIDE, page.width), BODY)
        left, top, count = 42.0, 2.0 * BODY, weights.shape[1]
        if trace.sound:
            outline = np.array(trace.sound.outline)
            largest = max(float(np.abs(outline).max()), 1e-6)
            times = left + WIDE * (np.arange(len(outline)) + 0.5) / len(outline)
            middle, scale = top + HIGH / 2, HIGH / 2 / largest
            style: dict[str, Any] = {"color": LIGHT.strong, "linewidth": 0, "clip_on": False}
            low, high = middle - outline[:, 0] * scale, middle - outline[:, 1] * scale
            page.axes.fill_between(times, low, high, **style)
            top += HIGH + 8
        x_edges = left + WIDE * np.arange(count + 1) / count
        y_edges = top + ROW * np.arange(len(characters) + 1)
        page.axes.pcolormesh(x_edges, y_edges, weights.numpy(), **BLUES, rasterized=True)
        bottom = float(y_edges[-1])
        page.box(left, top, WIDE, bottom - top, "none", edge=LIGHT.grey, linewidth=0.5)
        for row, character in enumerate(characters):
            shown = page.label(character) if character.strip() else "␣"
            page.text(left - 4, top + (row + 0.75) * ROW, shown, LABEL_ROW, ha="right")
        seconds = trace.sound.frame_seconds * count if trace.sound else None
        for share in (0, 0.25, 0.5, 0.75, 1):
            text = f"{seconds * share:.2f} s" if seconds else f"{round(share * count)}"
            x = left + WIDE * share
            page.text(x, bottom + 1.4 * SMALL, text, SMALL, LIGHT.grey, ha="center")
        note = "time" if seconds else f"frames; {NO_SOUND}"
        page.text(left, bottom + 2.9 * SMALL, note, SMALL, LIGHT.grey)
        return page.crop(left + WIDE + 14, bottom + 3.2 * SMALL)
