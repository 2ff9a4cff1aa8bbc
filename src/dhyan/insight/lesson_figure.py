"""Lesson figures: text, tables and charts laid out on one page, in reading order."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from dhyan.errors import UserError
from dhyan.insight.bar_chart import bar_chart
from dhyan.insight.blocks import Bars, Lines, Part, Plane, Table, Words, format_number
from dhyan.insight.colors import LIGHT, Theme
from dhyan.insight.fonts import Font, drawable, families, settings
from dhyan.insight.heatmap import GAP, LABEL, PAD, SMALL, TITLE
from dhyan.insight.heatmap import MARGIN as MARGIN
from dhyan.insight.line_chart import LEFT, LINE, TO_LABEL, Drawing
from dhyan.insight.page_layout import CAPTION, LEADING, Block, FigureStyle, Page
from dhyan.insight.page_layout import Figure as Figure
from dhyan.insight.scatter_plot import scatter_plot

# Lengths are in points, 72 to the inch.
CELL, NARROWEST, BARE = 19.0, 24.0, 10.0  # a cell's height and least width; a bare one
OPERATOR = 20.0  # room for a sign such as = between two tables
CHART_WIDE, CHART_HIGH, BELOW = 250.0, 160.0, 36.0
WIDEST = 560.0  # of the figure


def draw_figure(
    parts: Sequence[Part], *, title: str = "", theme: Theme = LIGHT, widest: float = WIDEST
) -> Figure:
    """All parts below the title, as many side by side as fit."""
    if not parts:
        raise UserError("there is nothing to draw: a figure needs at least one part")
    texts = [title, *(text for part in parts for text in texts_of(part))]
    fonts = families("".join(texts))
    drawable_by_text = dict(zip(texts, drawable(texts, fonts), strict=True))
    with settings():
        style, large = FigureStyle(Font(fonts, LABEL), theme, drawable_by_text), Font(fonts, TITLE)
        blocks = [make_block(part, style, widest) for part in parts]
        heading = large.wrap(drawable_by_text[title], widest) if title else []
        positions, wide, high = flow(blocks, widest, top=len(heading) * 1.5 * TITLE)
        page = Page(max(wide, large.widest(heading or [""])), high, theme)
        for number, line in enumerate(heading):
            page.text(0.0, (number + 0.8) * 1.5 * TITLE, line, large, theme.ink)
        for block, (x, y) in zip(blocks, positions, strict=True):
            block.draw(page, x, y)
        return page.figure


def texts_of(part: Part) -> list[str]:
    """Every text of a part."""
    match part:
        case Words():
            return [part.text]
        case Table():
            numbers = [format_number(value, part) for row in part.values for value in row]
            return [part.title, part.after, *part.rows, *part.columns, *numbers]
        case Lines():
            names = [curve.name for curve in part.curves]
            return [part.title, part.across, part.up, part.gaps, *part.places, *names]
        case Plane():
            names = [point.name for point in part.points]
            return [part.title, part.across, part.up, *part.kinds, *names]
        case Bars():
            numbers = [format_number(value, part) for row in part.values for value in row]
            named = [*part.names, *part.groups, *numbers]
            return [part.title, part.across, part.up, *named]


def flow(
    blocks: Sequence[Block], widest: float, *, top: float
) -> tuple[list[tuple[float, float]], float, float]:
    """The position of each block, line by line, and the width and height of all."""
    lines: list[list[Block]] = []
    room = 0.0
    for block in blocks:
        if lines and not block.full_width and not lines[-1][0].full_width and block.width <= room:
            lines[-1].append(block)
        else:
            lines.append([block])
            room = widest
        room -= block.width + GAP
    positions: list[tuple[float, float]] = []
    y, wide = top + (PAD if top else 0), 0.0
    for line in lines:
        x, head = 0.0, max(block.head or 0.0 for block in line)
        down = [0.0 if block.head is None else head - block.head for block in line]
        for block, lower in zip(line, down, strict=True):
            positions.append((x, y + lower))
            x += block.width + GAP
        wide = max(wide, x - GAP)
        y += max(block.height + lower for block, lower in zip(line, down, strict=True))
        y += PAD if line[0].full_width else GAP
    return positions, wide, y - (PAD if lines[-1][0].full_width else GAP)


def make_block(part: Part, style: FigureStyle, widest: float) -> Block:
    """A part with its size, ready to draw."""
    match part:
        case Words():
            return text_block(part, style, widest)
        case Table():
            return table_block(part, style)
        case Lines():
            return line_chart_block(part, style)
        case Plane():
            return scatter_plot(part, style)
        case Bars():
            return bar_chart(part, style)


def text_block(part: Words, style: FigureStyle, widest: float) -> Block:
    """Sentences in lines."""
    font = style.font
    lines = font.wrap(style.texts[part.text], widest)

    def draw(page: Page, x: float, y: float) -> None:
        for number, line in enumerate(lines):
            page.text(x, y + number * LEADING + 0.8 * font.size, line, font, style.theme.ink)

    wide = max(map(font.measure, lines), default=0.0)
    return Block(wide, len(lines) * LEADING, draw, full_width=True)


def table_block(part: Table, style: FigureStyle) -> Block:
    """A table of coloured cells, with column names above and row names at the left."""
    font, ink = style.font, style.theme.ink
    names, above = ([style.texts[name] for name in some] for some in (part.rows, part.columns))
    numbers = [[format_number(value, part) for value in row] for row in part.values]
    colours = [[_colour(value, part, style.theme) for value in row] for row in part.values]
    small = replace(font, size=SMALL + 1)
    if part.bare:
        font, wide_cell, high_cell = small, BARE, BARE
    else:
        widest = max(small.widest(row) for row in numbers)
        wide_cell = max(NARROWEST, widest + 8, font.widest(above or [""]) + 6)
        high_cell = CELL
    over = (font.widest(above) + PAD if part.bare else CAPTION) if above else 0.0
    head = CAPTION * bool(part.title) + over
    label_width = font.widest(names) + PAD if names else 0.0
    wide = label_width + wide_cell * len(numbers[0])
    wide = max(wide, style.font.measure(style.texts[part.title])) + OPERATOR * bool(part.after)

    def draw(page: Page, x: float, y: float) -> None:
        style.caption(page, x, y, part.title)
        left, top = x + label_width, y + head
        page.cells(left, top, wide_cell, high_cell, colours)
        middles = [left + (column + 0.5) * wide_cell for column in range(len(numbers[0]))]
        levels = [top + (row + 0.5) * high_cell for row in range(len(numbers))]
        for middle, name in zip(middles, above, strict=False):
            if part.bare:
                page.text(middle + font.middle, top - PAD, name, font, ink, turn=90)
            else:
                page.text(middle, top - CAPTION + 9, name, font, ink, ha="center")
        for level, name in zip(levels, names, strict=False):
            page.text(left - PAD, level + font.middle, name, font, ink, ha="right")
        for level, line, row in zip(levels, numbers, colours, strict=True):
            for middle, number, colour in zip(middles, line, row, strict=True):
                if not part.bare:
                    pen = style.theme.pen(colour)
                    page.text(middle, level + small.middle, number, small, pen, ha="center")
        if part.after:
            level = top + len(numbers) * high_cell / 2 + 3
            operator = style.texts[part.after]
            page.text(x + wide - OPERATOR / 2, level, operator, style.font, ink, ha="center")

    return Block(wide, head + high_cell * len(numbers), draw, head=head)


def _colour(value: float, part: Table, theme: Theme) -> str:
    if not isfinite(value):
        return theme.hairline
    if part.kind == "weights":
        return theme.weight(value)
    sizes = [abs(number) for row in part.values for number in row if isfinite(number)]
    return theme.signed(0.75 * value / (max(sizes, default=1.0) or 1.0))


def line_chart_block(part: Lines, style: FigureStyle) -> Block:
    """A line chart, with an explanation of its gaps below."""
    font, theme = style.font, style.theme
    names = [style.texts[curve.name] for curve in part.curves]
    places = [style.texts[place] for place in part.places]
    high = max(CHART_HIGH, LINE * len(names))
    bottom = 2 * CAPTION + high + BELOW
    wide = LEFT + CHART_WIDE + TO_LABEL + font.widest(names)
    wide = max(wide, font.measure(style.texts[part.title]))
    gaps = font.wrap(style.texts[part.gaps], wide - LEFT) if part.broken else []

    def draw(page: Page, x: float, y: float) -> None:
        style.caption(page, x, y, part.title)
        axes = page.inset(x + LEFT, y + 2 * CAPTION, CHART_WIDE, high)
        drawing = Drawing(axes, font, theme, CHART_WIDE, high, log=part.log)
        drawing.frame(places, across=style.texts[part.across], up=style.texts[part.up])
        drawing.fill(part.curves, names)
        for number, line in enumerate(gaps):
            level = y + bottom + (number + 0.7) * LEADING
            page.text(x + LEFT, level, line, font, theme.grey)

    return Block(wide, bottom + len(gaps) * LEADING, draw)
