"""Cell grid: output symbols as the cells of a square picture, and the cells that attend to each word.

A symbol such as `red` is a colour; `blank` is empty, any other is written out.
"""

from math import ceil, sqrt
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from dhyan.data.scenes import RGB
from dhyan.insight.colors import LIGHT, paint
from dhyan.insight.fonts import shorten
from dhyan.insight.terminal_heatmap import FAINT, PLAIN, clean
from dhyan.insight.trace import Trace
from dhyan.special_tokens import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dhyan.insight.figure_page import Page

BLANK = "blank"
CELL, SMALL_CELL, TINY = 16, 6, 5.0  # in points
LEGEND = "small grids: the weight of this word when the cell was written, square root"


def symbols_of(trace: Trace) -> list[str]:
    """The output symbols of a trace, without special tokens."""
    return [symbol for symbol in trace.target.words if symbol not in NAMES]


def grid_side(count: int) -> int:
    """The columns of a grid of so many cells: the side of the smallest square that holds them."""
    return max(1, ceil(sqrt(count)))


def colour_of(symbol: str) -> str | None:
    """The colour that a symbol names, as #rrggbb."""
    return "#" + bytes(RGB[symbol]).hex() if symbol in RGB else None


def draw_in_terminal(trace: Trace, width: int = 80, colour: bool = True) -> Text:
    """A row of the grid in a line; each cell the first letters of its symbol, on its colour."""
    symbols = symbols_of(trace)
    side = grid_side(len(symbols))
    letters = 1 if all(symbol == BLANK or colour_of(symbol) for symbol in symbols) else 2
    lines, line = list[Text](), Text()
    for at, symbol in enumerate(symbols):
        paint_colour = colour_of(symbol)
        if symbol == BLANK:
            text, style = "·", FAINT
        elif paint_colour:
            text, style = symbol[0], Style(color="#ffffff", bgcolor=paint_colour)
        else:
            text, style = shorten(clean(symbol), letters, len), PLAIN
        line.append(f"{text:<{letters + 1}}", style if colour else PLAIN)
        if at % side == side - 1 or at == len(symbols) - 1:
            lines, line = [*lines, line], Text()
    return Text("\n").join(lines)


def draw(trace: Trace) -> "Figure":
    """The grid, and beside it a small one for each source word, shaded by its weights."""
    from dhyan.insight.figure_page import BODY, SMALL, Page
    from dhyan.insight.fonts import settings

    symbols, attention = symbols_of(trace), trace.cross_weights()
    words = [(at, word) for at, word in enumerate(trace.source.words) if word not in NAMES]
    side = grid_side(len(symbols))
    big, small = side * CELL, side * SMALL_CELL
    with settings():
        page = Page([*symbols, *trace.source.words, trace.text])
        top = 1.8 * BODY
        title = page.text(0, 0.6 * BODY, shorten(page.label(trace.text), 560, page.width), BODY)
        for at, symbol in enumerate(symbols):
            row, column = divmod(at, side)
            _draw_cell(page, symbol, column * CELL, top + row * CELL)
        bottom, right = top + big, max(title, big)
        step = max(small, max((page.width(word) for _, word in words), default=0)) + 14
        down = max(1, int((big + BODY) // (small + 2 * BODY)))
        across = -(-len(words) // down)
        weights = attention.weights[0, : len(symbols)].T.tolist() if attention else []
        for number, (column_of_word, word) in enumerate(words if weights else []):
            row, column = divmod(number, across)
            x, y = big + 24 + column * step, top + row * (small + 2.2 * BODY)
            for at, weight in enumerate(weights[column_of_word]):
                cell = (x + at % side * SMALL_CELL, y + at // side * SMALL_CELL)
                shade = paint(sqrt(max(weight, 0)))
                page.box(*cell, SMALL_CELL, SMALL_CELL, shade, edge=LIGHT.hairline, linewidth=0.3)
            page.text(x, y + small + 1.2 * BODY, word, BODY)
            right, bottom = max(right, x + step - 14), max(bottom, y + small + 1.4 * BODY)
        end = page.text(0, bottom + 2 * SMALL, LEGEND, SMALL, LIGHT.grey)
        return page.crop(max(right, end), bottom + 2.2 * SMALL)


def _draw_cell(page: "Page", symbol: str, x: int | float, y: int | float) -> None:
    """One cell: its colour, or its symbol in small letters."""
    colour = colour_of(symbol)
    page.box(x, y, CELL, CELL, colour or "#ffffff", edge=LIGHT.hairline, linewidth=0.6)
    if colour is None and symbol != BLANK:
        text = shorten(page.label(symbol), CELL - 2, lambda text: page.width(text, TINY))
        page.text(x + CELL / 2, y + CELL / 2 + 2, text, TINY, ha="center")
