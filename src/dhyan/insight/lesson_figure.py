"""Lesson figures: text, tables and charts laid out on one page, in reading order."""

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from dhyan.errors import UserError
from dhyan.insight.bar_chart import bar_chart_block
from dhyan.insight.colors import LIGHT, Theme
from dhyan.insight.fonts import Font, drawable, families, settings
from dhyan.insight.heatmap import GAP, LABEL, PAD, SMALL, TITLE
from dhyan.insight.heatmap import MARGIN as MARGIN
from dhyan.insight.lesson_blocks import (
    BarChart,
    Block,
    LineChart,
    Paragraph,
    ScatterPlot,
    Table,
    format_number,
)
from dhyan.insight.lesson_figure_layout import CAPTION, LEADING, Canvas, FigureStyle, SizedBlock
from dhyan.insight.lesson_figure_layout import Figure as Figure
from dhyan.insight.line_chart import LEFT, LINE, TO_LABEL, ChartAxes
from dhyan.insight.scatter_plot import scatter_plot_block

# Lengths are in points, 72 to the inch.
CELL, NARROWEST, BARE = 19.0, 24.0, 10.0  # a cell's height and least width; a compact one
OPERATOR = 20.0  # room for a sign such as = between two tables
CHART_WIDE, CHART_HIGH, BELOW = 250.0, 160.0, 36.0
WIDEST = 560.0  # of the figure


def draw_figure(
    blocks: Sequence[Block], *, title: str = "", theme: Theme = LIGHT, widest: float = WIDEST
) -> Figure:
    """All blocks below the title, as many side by side as fit."""
    if not blocks:
        raise UserError("there is nothing to draw: a figure needs at least one block")
    texts = [title, *(text for block in blocks for text in texts_of(block))]
    fonts = families("".join(texts))
    drawable_by_text = dict(zip(texts, drawable(texts, fonts), strict=True))
    with settings():
        style, large = FigureStyle(Font(fonts, LABEL), theme, drawable_by_text), Font(fonts, TITLE)
        sized = [size_block(block, style, widest) for block in blocks]
        heading = large.wrap(drawable_by_text[title], widest) if title else []
        positions, wide, high = flow(sized, widest, top=len(heading) * 1.5 * TITLE)
        canvas = Canvas(max(wide, large.widest(heading or [""])), high, theme)
        for number, line in enumerate(heading):
            canvas.text(0.0, (number + 0.8) * 1.5 * TITLE, line, large, theme.ink)
        for sized_block, (x, y) in zip(sized, positions, strict=True):
            sized_block.draw(canvas, x, y)
        return canvas.figure


def texts_of(block: Block) -> list[str]:
    """Every text of a block."""
    match block:
        case Paragraph():
            return [block.text]
        case Table():
            numbers = [format_number(value, block) for row in block.values for value in row]
            return [block.title, block.operator, *block.rows, *block.columns, *numbers]
        case LineChart():
            names = [curve.name for curve in block.curves]
            return [
                block.title,
                block.x_label,
                block.y_label,
                block.gap_note,
                *block.x_ticks,
                *names,
            ]
        case ScatterPlot():
            names = [point.name for point in block.points]
            return [block.title, block.x_label, block.y_label, *block.groups, *names]
        case BarChart():
            numbers = [format_number(value, block) for row in block.values for value in row]
            named = [*block.names, *block.groups, *numbers]
            return [block.title, block.x_label, block.y_label, *named]


def flow(
    blocks: Sequence[SizedBlock], widest: float, *, top: float
) -> tuple[list[tuple[float, float]], float, float]:
    """The position of each block, line by line, and the width and height of all."""
    lines: list[list[SizedBlock]] = []
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


def size_block(block: Block, style: FigureStyle, widest: float) -> SizedBlock:
    """The block with its size, ready to draw."""
    match block:
        case Paragraph():
            return paragraph_block(block, style, widest)
        case Table():
            return table_block(block, style)
        case LineChart():
            return line_chart_block(block, style)
        case ScatterPlot():
            return scatter_plot_block(block, style)
        case BarChart():
            return bar_chart_block(block, style)


def paragraph_block(block: Paragraph, style: FigureStyle, widest: float) -> SizedBlock:
    """Sentences in lines."""
    font = style.font
    lines = font.wrap(style.texts[block.text], widest)

    def draw(canvas: Canvas, x: float, y: float) -> None:
        for number, line in enumerate(lines):
            canvas.text(x, y + number * LEADING + 0.8 * font.size, line, font, style.theme.ink)

    wide = max(map(font.measure, lines), default=0.0)
    return SizedBlock(wide, len(lines) * LEADING, draw, full_width=True)


def table_block(block: Table, style: FigureStyle) -> SizedBlock:
    """A table of coloured cells, with column names above and row names at the left."""
    font, ink = style.font, style.theme.ink
    names, above = (
        [style.texts[name] for name in labels] for labels in (block.rows, block.columns)
    )
    numbers = [[format_number(value, block) for value in row] for row in block.values]
    colours = [[_colour(value, block, style.theme) for value in row] for row in block.values]
    small = replace(font, size=SMALL + 1)
    if block.compact:
        font, wide_cell, high_cell = small, BARE, BARE
    else:
        widest = max(small.widest(row) for row in numbers)
        wide_cell = max(NARROWEST, widest + 8, font.widest(above or [""]) + 6)
        high_cell = CELL
    over = (font.widest(above) + PAD if block.compact else CAPTION) if above else 0.0
    head = CAPTION * bool(block.title) + over
    label_width = font.widest(names) + PAD if names else 0.0
    wide = label_width + wide_cell * len(numbers[0])
    wide = max(wide, style.font.measure(style.texts[block.title])) + OPERATOR * bool(block.operator)

    def draw(canvas: Canvas, x: float, y: float) -> None:
        style.caption(canvas, x, y, block.title)
        left, top = x + label_width, y + head
        canvas.cells(left, top, wide_cell, high_cell, colours)
        middles = [left + (column + 0.5) * wide_cell for column in range(len(numbers[0]))]
        levels = [top + (row + 0.5) * high_cell for row in range(len(numbers))]
        for middle, name in zip(middles, above, strict=False):
            if block.compact:
                canvas.text(middle + font.middle, top - PAD, name, font, ink, turn=90)
            else:
                canvas.text(middle, top - CAPTION + 9, name, font, ink, ha="center")
        for level, name in zip(levels, names, strict=False):
            canvas.text(left - PAD, level + font.middle, name, font, ink, ha="right")
        for level, line, row in zip(levels, numbers, colours, strict=True):
            for middle, number, colour in zip(middles, line, row, strict=True):
                if not block.compact:
                    pen = style.theme.pen(colour)
                    canvas.text(middle, level + small.middle, number, small, pen, ha="center")
        if block.operator:
            level = top + len(numbers) * high_cell / 2 + 3
            operator = style.texts[block.operator]
            canvas.text(x + wide - OPERATOR / 2, level, operator, style.font, ink, ha="center")

    return SizedBlock(wide, head + high_cell * len(numbers), draw, head=head)


def _colour(value: float, block: Table, theme: Theme) -> str:
    if not isfinite(value):
        return theme.hairline
    if block.weights:
        return theme.weight(value)
    sizes = [abs(number) for row in block.values for number in row if isfinite(number)]
    return theme.signed(0.75 * value / (max(sizes, default=1.0) or 1.0))


def line_chart_block(block: LineChart, style: FigureStyle) -> SizedBlock:
    """A line chart, with an explanation of its gaps below."""
    font, theme = style.font, style.theme
    names = [style.texts[curve.name] for curve in block.curves]
    x_ticks = [style.texts[tick] for tick in block.x_ticks]
    high = max(CHART_HIGH, LINE * len(names))
    bottom = 2 * CAPTION + high + BELOW
    wide = LEFT + CHART_WIDE + TO_LABEL + font.widest(names)
    wide = max(wide, font.measure(style.texts[block.title]))
    gaps = font.wrap(style.texts[block.gap_note], wide - LEFT) if block.has_gaps else []

    def draw(canvas: Canvas, x: float, y: float) -> None:
        style.caption(canvas, x, y, block.title)
        axes = canvas.inset(x + LEFT, y + 2 * CAPTION, CHART_WIDE, high)
        chart = ChartAxes(axes, font, theme, CHART_WIDE, high, log=block.log)
        chart.frame(x_ticks, x_label=style.texts[block.x_label], y_label=style.texts[block.y_label])
        chart.fill(block.curves, names)
        for number, line in enumerate(gaps):
            level = y + bottom + (number + 0.7) * LEADING
            canvas.text(x + LEFT, level, line, font, theme.grey)

    return SizedBlock(wide, bottom + len(gaps) * LEADING, draw)
