"""The parts of a sheet as blocks: sentences, tables and curves."""

from dataclasses import replace
from math import isfinite

from dhyan.insight.bar_chart import barred
from dhyan.insight.blocks import Bars, Lines, Part, Plane, Table, Words, said
from dhyan.insight.heatmap import PAD, SMALL
from dhyan.insight.line_chart import LEFT, LINE, TO_LABEL, Drawing
from dhyan.insight.page_layout import CAPTION, LEADING, Block, Hand, Page
from dhyan.insight.scatter_plot import mapped
from dhyan.insight.theme import Theme

# Lengths are in points, 72 to the inch.
CELL, NARROWEST, BARE = 19.0, 24.0, 10.0  # a cell's height and least width; a bare one
SIGN = 20.0  # room for a sign between two tables
CHART_WIDE, CHART_HIGH, BELOW = 250.0, 160.0, 36.0


def block(part: Part, hand: Hand, widest: float) -> Block:
    """A part with its size."""
    match part:
        case Words():
            return written(part, hand, widest)
        case Table():
            return tabled(part, hand)
        case Lines():
            return charted(part, hand)
        case Plane():
            return mapped(part, hand)
        case Bars():
            return barred(part, hand)


def written(part: Words, hand: Hand, widest: float) -> Block:
    """Sentences in lines."""
    letters = hand.letters
    lines = letters.wrap(hand.shown[part.text], widest)

    def draw(page: Page, x: float, y: float) -> None:
        for number, line in enumerate(lines):
            page.put(x, y + number * LEADING + 0.8 * letters.size, line, letters, hand.theme.ink)

    wide = max(map(letters.measure, lines), default=0.0)
    return Block(wide, len(lines) * LEADING, draw, whole=True)


def tabled(part: Table, hand: Hand) -> Block:
    """Numbers in coloured cells, with names above their columns and beside their rows."""
    letters, ink = hand.letters, hand.theme.ink
    names, above = ([hand.shown[one] for one in some] for some in (part.rows, part.columns))
    numbers = [[said(value, part) for value in row] for row in part.values]
    colours = [[_colour(value, part, hand.theme) for value in row] for row in part.values]
    small = replace(letters, size=SMALL + 1)
    if part.bare:
        letters, wide_cell, high_cell = small, BARE, BARE
    else:
        widest = max(small.widest(row) for row in numbers)
        wide_cell = max(NARROWEST, widest + 8, letters.widest(above or [""]) + 6)
        high_cell = CELL
    over = (letters.widest(above) + PAD if part.bare else CAPTION) if above else 0.0
    head = CAPTION * bool(part.title) + over
    beside = letters.widest(names) + PAD if names else 0.0
    wide = beside + wide_cell * len(numbers[0])
    wide = max(wide, hand.letters.measure(hand.shown[part.title])) + SIGN * bool(part.after)

    def draw(page: Page, x: float, y: float) -> None:
        hand.caption(page, x, y, part.title)
        left, top = x + beside, y + head
        page.cells(left, top, wide_cell, high_cell, colours)
        middles = [left + (column + 0.5) * wide_cell for column in range(len(numbers[0]))]
        levels = [top + (row + 0.5) * high_cell for row in range(len(numbers))]
        for middle, name in zip(middles, above, strict=False):
            if part.bare:
                page.put(middle + letters.middle, top - PAD, name, letters, ink, turn=90)
            else:
                page.put(middle, top - CAPTION + 9, name, letters, ink, ha="center")
        for level, name in zip(levels, names, strict=False):
            page.put(left - PAD, level + letters.middle, name, letters, ink, ha="right")
        for level, line, row in zip(levels, numbers, colours, strict=True):
            for middle, number, colour in zip(middles, line, row, strict=True):
                if not part.bare:
                    pen = hand.theme.pen(colour)
                    page.put(middle, level + small.middle, number, small, pen, ha="center")
        if part.after:
            level = top + len(numbers) * high_cell / 2 + 3
            sign = hand.shown[part.after]
            page.put(x + wide - SIGN / 2, level, sign, hand.letters, ink, ha="center")

    return Block(wide, head + high_cell * len(numbers), draw, head=head)


def _colour(value: float, part: Table, theme: Theme) -> str:
    if not isfinite(value):
        return theme.hairline
    if part.kind == "weights":
        return theme.weight(value)
    seen = [abs(one) for row in part.values for one in row if isfinite(one)]
    return theme.signed(0.75 * value / (max(seen, default=1.0) or 1.0))


def charted(part: Lines, hand: Hand) -> Block:
    """Curves, each with its name at its end, over what their gaps mean."""
    letters, theme = hand.letters, hand.theme
    names = [hand.shown[one.name] for one in part.curves]
    places = [hand.shown[one] for one in part.places]
    high = max(CHART_HIGH, LINE * len(names))
    bottom = 2 * CAPTION + high + BELOW
    wide = LEFT + CHART_WIDE + TO_LABEL + letters.widest(names)
    wide = max(wide, letters.measure(hand.shown[part.title]))
    gaps = letters.wrap(hand.shown[part.gaps], wide - LEFT) if part.broken else []

    def draw(page: Page, x: float, y: float) -> None:
        hand.caption(page, x, y, part.title)
        axes = page.inset(x + LEFT, y + 2 * CAPTION, CHART_WIDE, high)
        drawing = Drawing(axes, letters, theme, CHART_WIDE, high, log=part.log)
        drawing.frame(places, across=hand.shown[part.across], up=hand.shown[part.up])
        drawing.fill(part.curves, names)
        for number, line in enumerate(gaps):
            level = y + bottom + (number + 0.7) * LEADING
            page.put(x + LEFT, level, line, letters, theme.grey)

    return Block(wide, bottom + len(gaps) * LEADING, draw)
