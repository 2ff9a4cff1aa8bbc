"""A lesson's figure: its tables, lines and planes set on one sheet, in reading order."""

from collections.abc import Sequence

from dhyan.errors import UserError
from dhyan.insight.block_drawing import block
from dhyan.insight.blocks import Bars, Lines, Part, Plane, Table, Words, said
from dhyan.insight.fonts import Lettering, drawable, families, settings
from dhyan.insight.heatmap import GAP, LABEL, PAD, TITLE
from dhyan.insight.heatmap import MARGIN as MARGIN
from dhyan.insight.page_layout import Block, Hand, Page
from dhyan.insight.page_layout import Figure as Figure
from dhyan.insight.theme import LIGHT, Theme

WIDEST = 560.0  # in points, 72 to the inch


def sheet(
    parts: Sequence[Part], *, title: str = "", theme: Theme = LIGHT, widest: float = WIDEST
) -> Figure:
    """All parts below the title, as many side by side as fit."""
    if not parts:
        raise UserError("there is nothing to draw: a sheet needs at least one part")
    texts = [title, *(text for part in parts for text in texts_of(part))]
    fonts = families("".join(texts))
    shown = dict(zip(texts, drawable(texts, fonts), strict=True))
    with settings():
        hand, large = Hand(Lettering(fonts, LABEL), theme, shown), Lettering(fonts, TITLE)
        blocks = [block(part, hand, widest) for part in parts]
        heading = large.wrap(shown[title], widest) if title else []
        places, wide, high = flow(blocks, widest, top=len(heading) * 1.5 * TITLE)
        page = Page(max(wide, large.widest(heading or [""])), high, theme)
        for number, line in enumerate(heading):
            page.put(0.0, (number + 0.8) * 1.5 * TITLE, line, large, theme.ink)
        for one, (x, y) in zip(blocks, places, strict=True):
            one.draw(page, x, y)
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
            return [part.title, part.across, part.up, part.gaps, *part.places, *names]
        case Plane():
            names = [one.name for one in part.points]
            return [part.title, part.across, part.up, *part.kinds, *names]
        case Bars():
            numbers = [said(value, part) for row in part.values for value in row]
            named = [*part.names, *part.groups, *numbers]
            return [part.title, part.across, part.up, *named]


def flow(
    blocks: Sequence[Block], widest: float, *, top: float
) -> tuple[list[tuple[float, float]], float, float]:
    """Where each block stands, line by line, and how wide and high that is."""
    lines: list[list[Block]] = []
    room = 0.0
    for one in blocks:
        if lines and not one.whole and not lines[-1][0].whole and one.wide <= room:
            lines[-1].append(one)
        else:
            lines.append([one])
            room = widest
        room -= one.wide + GAP
    places: list[tuple[float, float]] = []
    y, wide = top + (PAD if top else 0), 0.0
    for line in lines:
        x, head = 0.0, max(one.head or 0.0 for one in line)
        down = [0.0 if one.head is None else head - one.head for one in line]
        for one, lower in zip(line, down, strict=True):
            places.append((x, y + lower))
            x += one.wide + GAP
        wide = max(wide, x - GAP)
        y += max(one.high + lower for one, lower in zip(line, down, strict=True))
        y += PAD if line[0].whole else GAP
    return places, wide, y - (PAD if lines[-1][0].whole else GAP)
