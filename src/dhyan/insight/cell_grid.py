"""Cell grid: output symbols as the cells of a square picture, and the cells that attend to each word.

A symbol such as `red-circle` is a colour and a shape; `blank` is empty, any other is written out.
"""

from math import ceil, cos, pi, sin, sqrt
from typing import TYPE_CHECKING, Any

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

GLYPHS = {"circle": "●", "square": "■", "triangle": "▲", "star": "★", "bar": "▬"}
BLANK = "blank"
CELL, SMALL_CELL, TINY = 24, 9, 6.0  # in points
LEGEND = "small grids: the weight of this word when the cell was written, square root"


def symbols_of(trace: Trace) -> list[str]:
    """The output symbols of a trace, without special tokens."""
    return [symbol for symbol in trace.target.words if symbol not in NAMES]


def grid_side(count: int) -> int:
    """The columns of a grid of so many cells: the side of the smallest square that holds them."""
    return max(1, ceil(sqrt(count)))


def colour_and_shape(symbol: str) -> tuple[str, str] | None:
    """The colour of a symbol as #rrggbb, and the name of its shape; None if it has none."""
    colour, _, shape = symbol.partition("-")
    if colour not in RGB or shape not in GLYPHS:
        return None
    return "#" + bytes(RGB[colour]).hex(), shape


def draw_in_terminal(trace: Trace, width: int = 80, colour: bool = True) -> Text:
    """A row of the grid in a line; each cell the letter of its colour, and its shape."""
    symbols = symbols_of(trace)
    side = grid_side(len(symbols))
    lines, line = list[Text](), Text()
    for at, symbol in enumerate(symbols):
        look = colour_and_shape(symbol)
        if look:
            style = Style(color=look[0], bgcolor="#ffffff") if colour else PLAIN
            line.append(f"{symbol[0]}{GLYPHS[look[1]]} ", style)
        elif symbol == BLANK:
            line.append("·  ", FAINT if colour else PLAIN)
        else:
            line.append(f"{shorten(clean(symbol), 2, len):<3}")
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
    """One cell: its shape, or its symbol in small letters."""
    from matplotlib.patches import Circle, Polygon, RegularPolygon

    page.box(x, y, CELL, CELL, "#ffffff", edge=LIGHT.hairline, linewidth=0.6)
    look, middle, radius = colour_and_shape(symbol), (x + CELL / 2, y + CELL / 2), 0.36 * CELL
    if look is None:
        if symbol != BLANK:
            text = shorten(page.label(symbol), CELL - 3, lambda text: page.width(text, TINY))
            page.text(middle[0], middle[1] + 2, text, TINY, ha="center")
        return
    colour, shape = look
    style: dict[str, Any] = {"facecolor": colour, "edgecolor": "none", "clip_on": False}
    match shape:
        case "circle":
            page.axes.add_patch(Circle(middle, radius, **style))
        case "triangle":
            page.axes.add_patch(
                RegularPolygon(middle, 3, radius=1.15 * radius, orientation=pi, **style)
            )
        case "star":
            page.axes.add_patch(Polygon(star_points(middle, 1.15 * radius), **style))
        case "bar":
            page.box(x + 0.1 * CELL, middle[1] - 0.12 * CELL, 0.8 * CELL, 0.24 * CELL, colour)
        case _:
            page.box(middle[0] - radius, middle[1] - radius, 2 * radius, 2 * radius, colour)


def star_points(
    middle: tuple[int | float, int | float], radius: int | float
) -> list[tuple[float, float]]:
    """The ten corners of a star with five points, one of them up."""
    return [
        (
            middle[0] + (radius if at % 2 == 0 else 0.42 * radius) * sin(at * pi / 5),
            middle[1] - (radius if at % 2 == 0 else 0.42 * radius) * cos(at * pi / 5),
        )
        for at in range(10)
    ]
