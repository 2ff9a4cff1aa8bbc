"""Figures of tasks by name: how a trace is drawn in the terminal and as a figure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from dhyan.insight import cell_grid, entity_spans, image_overlay, shaded_words, waveform_figure
from dhyan.insight.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TaskFigure:
    """`draw` makes a figure of a trace; `draw_in_terminal` lines of a width, coloured or not."""

    draw: "Callable[[Trace], Figure]"
    draw_in_terminal: Callable[[Trace, int, bool], Text]


FIGURES = {
    "shaded_words": TaskFigure(shaded_words.draw, shaded_words.draw_in_terminal),
    "entity_spans": TaskFigure(entity_spans.draw, entity_spans.draw_in_terminal),
    "image_overlay": TaskFigure(image_overlay.draw, image_overlay.draw_in_terminal),
    "cell_grid": TaskFigure(cell_grid.draw, cell_grid.draw_in_terminal),
    "waveform": TaskFigure(waveform_figure.draw, waveform_figure.draw_in_terminal),
}


def find_figure(name: str) -> TaskFigure | None:
    """The figure of that name; None for the heat map, and for names of plugins without a figure."""
    return FIGURES.get(name)
