"""A lesson's figure: its tables, lines and planes set on one sheet, in reading order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Figure

from dhyan.faults import Fault
from dhyan.insight.curves import LEFT, TO_LABEL, Drawing
from dhyan.insight.figures import DOTS, GAP, LABEL, MARGIN, PAD, POINTS, SMALL, TITLE
from dhyan.insight.fonts import Lettering, drawable, families, settings
from dhyan.insight.parts import Lines, Part, Plane, Point, Table, Words, said
from dhyan.insight.theme import LIGHT, Theme

# Lengths are in points, 72 to the inch.
WIDEST, LEADING = 560.0, 14.5
CELL, NARROWEST = 19.0, 24.0  # the height of a cell, and its least width
CAPTION, SIGN = 16.0, 20.0  # room for a table's title, and for a sign between two
CHART_WIDE, CHART_HIGH, BELOW = 250.0, 160.0, 36.0
PLANE = 210.0
FAINT = 0.45


def sheet(
    parts: Sequence[Part], *, title: str = "", theme: Theme = LIGHT, widest: float = WIDEST
) -> Figure:
    """All parts below the title, as many side by side as fit."""
    if not parts:
        raise Fault("there is nothing to draw: a sheet needs at least one part")
    texts = [title, *(text for part in parts for text in texts_of(part))]
    fonts = families("".join(texts))
    shown = dict(zip(texts, drawable(texts, fonts), strict=True))
    with settings():
        letters = Lettering(fonts, LABEL)
        blocks = [_block(part, letters, theme, shown, widest) for part in parts]
        heading = Lettering(fonts, TITLE).wrap(shown[title], widest) if title else []
        places, wide, high = _flow(blocks, widest, top=len(heading) * 1.5 * TITLE)
        wide = max(wide, *(Lettering(fonts, TITLE).measure(line) for line in heading or [""]))
        page = _Page(wide + 2 * MARGIN, high + 2 * MARGIN, theme)
        for number, line in enumerate(heading):
            page.put(0.0, (number + 0.8) * 1.5 * TITLE, line, Lettering(fonts, TITLE), theme.ink)
        for block, (x, y) in zip(blocks, places, strict=True):
            block.draw(page, x, y)
        return page.figure


def texts_of(part: Part) -> list[str]:
    """Everything that a part writes."""
    match part:
        case Words():
            return [part.text]
        case Table():
            numbers = [said(value, part) for row in part.values for value in row]
            return [part.title, part.after, *part.rows, *part.columns, *numbers]
        case Lines():
            names = [one.name for one in part.curves]
            return [part.title, part.across, part.up, *part.places, *names]
        case Plane():
            return [part.title, part.across, part.up, *(one.name for one in part.points)]


class _Page:
    """A figure of so many points, counted from its upper left, within a margin."""

    def __init__(self, wide: float, high: float, theme: Theme) -> None:
        size = (wide / POINTS, high / POINTS)
        self.figure = Figure(figsize=size, dpi=DOTS, facecolor=theme.paper)
        self.wide, self.high, self.theme = wide, high, theme
        self.axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(high, 0))
        self.axes.set_axis_off()

    def put(
        self, x: float, y: float, text: str, letters: Lettering, colour: str, *, ha: str = "left"
    ) -> None:
        """A text on its baseline."""
        self.axes.text(x + MARGIN, y + MARGIN, text, **letters.style(colour, ha=ha))

    def cells(self, x: float, y: float, wide: float, colours: Sequence[Sequence[str]]) -> None:
        """Coloured cells with hairlines between them."""
        from matplotlib.patches import Rectangle

        for row, line in enumerate(colours):
            for column, colour in enumerate(line):
                corner = (x + MARGIN + column * wide, y + MARGIN + row * CELL)
                box = Rectangle(corner, wide, CELL, facecolor=colour, linewidth=0.5)
                box.set_edgecolor(self.theme.hairline)
                self.axes.add_patch(box)

    def inset(self, x: float, y: float, wide: float, high: float) -> Axes:
        """A frame for a chart."""
        left, top = x + MARGIN, y + MARGIN
        share = (left / self.wide, 1 - (top + high) / self.high, wide / self.wide, high / self.high)
        return self.figure.add_axes(share)


@dataclass(frozen=True)
class _Block:
    """A part that knows its size; `whole` if nothing may stand beside it."""

    letters: Lettering
    theme: Theme
    shown: dict[str, str]
    wide: float
    high: float
    whole: bool = False
    head: float = 0.0  # what stands over its first row

    def caption(self, page: _Page, x: float, y: float, title: str) -> None:
        """What stands over it."""
        page.put(x, y + 0.75 * LABEL, self.shown[title], self.letters, self.theme.grey)

    def draw(self, page: _Page, x: float, y: float) -> None:
        """Set it with its upper left here."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Text(_Block):
    lines: tuple[str, ...] = ()

    def draw(self, page: _Page, x: float, y: float) -> None:
        for number, line in enumerate(self.lines):
            page.put(x, y + number * LEADING + 0.8 * LABEL, line, self.letters, self.theme.ink)


@dataclass(frozen=True)
class _Numbers(_Block):
    part: Table = Table("", ((0.0,),))
    beside: float = 0.0
    cell: float = NARROWEST

    def draw(self, page: _Page, x: float, y: float) -> None:
        part, top = self.part, y + (CAPTION if self.part.title else 0)
        self.caption(page, x, y, part.title)
        left = x + self.beside
        for column, name in enumerate(part.columns):
            middle = left + (column + 0.5) * self.cell
            page.put(middle, top + 9, self.shown[name], self.letters, self.theme.ink, ha="center")
        top += CAPTION if part.columns else 0
        colours = [[self._colour(value) for value in row] for row in part.values]
        page.cells(left, top, self.cell, colours)
        small = replace(self.letters, size=SMALL + 1)
        for row, line in enumerate(part.values):
            level = top + (row + 0.5) * CELL
            if part.rows:
                name, at = self.shown[part.rows[row]], level + self.letters.middle
                page.put(left - PAD, at, name, self.letters, self.theme.ink, ha="right")
            for column, value in enumerate(line):
                pen = self.theme.pen(colours[row][column])
                middle = left + (column + 0.5) * self.cell
                page.put(middle, level + small.middle, said(value, part), small, pen, ha="center")
        if part.after:
            middle, level = x + self.wide - SIGN / 2, top + len(part.values) * CELL / 2
            sign = self.shown[part.after]
            page.put(middle, level + 3, sign, self.letters, self.theme.ink, ha="center")

    def _colour(self, value: float) -> str:
        if self.part.kind == "weights":
            return self.theme.weight(value)
        if not isfinite(value):
            return self.theme.hairline
        seen = [abs(one) for row in self.part.values for one in row if isfinite(one)]
        most = max(seen, default=1.0) or 1.0
        return self.theme.signed(0.75 * value / most)


@dataclass(frozen=True)
class _Chart(_Block):
    part: Lines = Lines("", (), (), "", "")

    def draw(self, page: _Page, x: float, y: float) -> None:
        part = self.part
        self.caption(page, x, y, part.title)
        axes = page.inset(x + LEFT, y + 2 * CAPTION, CHART_WIDE, CHART_HIGH)
        drawing = Drawing(axes, self.letters, self.theme, CHART_WIDE, CHART_HIGH)
        places = [self.shown[one] for one in part.places]
        drawing.frame(places, across=self.shown[part.across], up=self.shown[part.up])
        drawing.fill(part.curves, [self.shown[one.name] for one in part.curves])


@dataclass(frozen=True)
class _Map(_Block):
    part: Plane = Plane("", ())

    def draw(self, page: _Page, x: float, y: float) -> None:
        part, theme = self.part, self.theme
        self.caption(page, x, y, part.title)
        axes = page.inset(x + LEFT, y + CAPTION + 6, PLANE, PLANE)
        axes.set_facecolor(theme.paper)
        xs = [one.x for one in part.points] + [at for a, _, b, _ in part.moves for at in (a, b)]
        ys = [one.y for one in part.points] + [at for _, a, _, b in part.moves for at in (a, b)]
        side = 1.25 * max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
        for low, high, limit in (
            (min(xs), max(xs), axes.set_xlim),
            (min(ys), max(ys), axes.set_ylim),
        ):
            limit((low + high - side) / 2, (low + high + side) / 2)
        axes.tick_params(length=0, labelcolor=theme.grey, labelsize=SMALL)
        axes.grid(color=theme.hairline, linewidth=0.6)
        axes.set_axisbelow(True)
        for spine in axes.spines.values():
            spine.set(visible=False)
        for x0, y0, x1, y1 in part.moves:
            arrow = {"arrowstyle": "->", "color": theme.grey, "linewidth": 1.1, "shrinkB": 4}
            axes.annotate("", (x1, y1), (x0, y0), arrowprops=arrow)
        for one in part.points:
            self._point(axes, one, side / PLANE)
        below = self.letters.style(theme.grey, ha="center")
        if part.across:
            axes.text(0.5, -0.14, self.shown[part.across], transform=axes.transAxes, **below)

    def _point(self, axes: Axes, one: Point, step: float) -> None:
        colour, alpha = (
            self.theme.lines[one.kind % len(self.theme.lines)],
            FAINT if one.faint else 1,
        )
        axes.plot([one.x], [one.y], "o", color=colour, alpha=alpha, markersize=5, clip_on=False)
        style = self.letters.style(self.theme.ink)
        place = (one.x + 6 * step, one.y + 4 * step)
        axes.text(*place, self.shown[one.name], **{**style, "alpha": FAINT if one.faint else 1})


def _block(
    part: Part, letters: Lettering, theme: Theme, shown: dict[str, str], widest: float
) -> _Block:
    """A part with its size."""
    title = letters.measure(shown[part.title]) if not isinstance(part, Words) else 0.0
    match part:
        case Words():
            lines = tuple(letters.wrap(shown[part.text], widest))
            wide = max((letters.measure(line) for line in lines), default=0.0)
            return _Text(letters, theme, shown, wide, len(lines) * LEADING, True, 0.0, lines)
        case Table():
            small = replace(letters, size=SMALL + 1)
            numbers = [said(value, part) for row in part.values for value in row]
            across = [shown[one] for one in part.columns] or [""]
            cell = max(NARROWEST, small.widest(numbers) + 8, letters.widest(across) + 6)
            beside = letters.widest([shown[one] for one in part.rows]) + PAD if part.rows else 0.0
            wide = beside + cell * len(part.values[0])
            head = CAPTION * (bool(part.title) + bool(part.columns))
            high = head + CELL * len(part.values)
            wide = max(wide, title) + (SIGN if part.after else 0)
            return _Numbers(letters, theme, shown, wide, high, False, head, part, beside, cell)
        case Lines():
            names = letters.widest([shown[one.name] for one in part.curves])
            wide = max(title, LEFT + CHART_WIDE + TO_LABEL + names)
            return _Chart(
                letters, theme, shown, wide, 2 * CAPTION + CHART_HIGH + BELOW, False, 0.0, part
            )
        case Plane():
            names = max(letters.measure(shown[one.name]) for one in part.points)
            wide = max(title, LEFT + PLANE + names / 2)
            return _Map(letters, theme, shown, wide, CAPTION + 6 + PLANE + BELOW, False, 0.0, part)


def _flow(
    blocks: Sequence[_Block], widest: float, *, top: float
) -> tuple[list[tuple[float, float]], float, float]:
    """Where each block stands, line by line, and how wide and high that is."""
    lines: list[list[_Block]] = []
    room = 0.0
    for block in blocks:
        if lines and not block.whole and not lines[-1][0].whole and block.wide <= room:
            lines[-1].append(block)
        else:
            lines.append([block])
            room = widest
        room -= block.wide + GAP
    places: list[tuple[float, float]] = []
    y, wide = top + (PAD if top else 0), 0.0
    for line in lines:
        x, head = 0.0, max(block.head for block in line)
        for block in line:
            places.append((x, y + head - block.head if block.head else y))
            x += block.wide + GAP
        wide = max(wide, x - GAP)
        y += max(block.high + (head - block.head if block.head else 0) for block in line)
        y += PAD if line[0].whole else GAP
    return places, wide, y - (PAD if lines[-1][0].whole else GAP)
