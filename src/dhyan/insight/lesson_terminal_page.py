"""Lesson pages as plain text for the terminal: paragraphs, tables, and charts as numbers.

Terminals disagree on how wide Hindi is, so nothing stands to the right of a word but words.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from statistics import fmean
from textwrap import wrap

from dhyan.insight.lesson_blocks import (
    BarChart,
    Block,
    LineChart,
    Paragraph,
    ScatterPlot,
    Table,
    format_number,
)

WIDTH = 92


def as_plain_text(title: str, blocks: Iterable[Block], *, width: int = WIDTH) -> str:
    """A title and its parts, with an empty line between any two."""
    paragraphs = [title, *("\n".join(_lines(block, width)) for block in blocks)]
    return "\n\n".join(paragraphs)


def _lines(block: Block, width: int) -> Iterator[str]:
    match block:
        case Paragraph():
            yield from wrap(block.text, width) or [""]
        case Table():
            yield from _table(block)
        case LineChart():
            yield f"{block.title}   {block.y_label} / {block.x_label}: {' · '.join(block.x_ticks)}"
            numbers = [[_number(value) for value in curve.values] for curve in block.curves]
            yield from _rows(numbers, [curve.name for curve in block.curves])
            if block.has_gaps and block.gap_note:
                yield f"  {block.gap_note}"
        case ScatterPlot():
            yield from _scatter_plot(block)
        case BarChart():
            yield from _bar_chart(block)


def _scatter_plot(block: ScatterPlot) -> Iterator[str]:
    """Each point with a name; of the others of a group how many there are, and their mean."""
    axes = [
        f"{arrow} {name}" for arrow, name in (("→", block.x_label), ("↑", block.y_label)) if name
    ]
    yield "   ".join([block.title, *axes])
    for point in block.points:
        if point.name:
            yield _point(point.x, point.y, point.name, _group_name(block, point.group))
    for group in sorted({point.group for point in block.points if not point.name}):
        points = [point for point in block.points if not point.name and point.group == group]
        x, y = fmean(point.x for point in points), fmean(point.y for point in points)
        yield _point(x, y, f"x̄, n = {len(points)}", _group_name(block, group))


def _point(x: int | float, y: int | float, *names: str) -> str:
    return f"  ({x:8.3f}, {y:8.3f})  {' · '.join(filter(None, names))}"


def _group_name(block: ScatterPlot, group: int) -> str:
    return block.groups[group] if group < len(block.groups) else ""


def _table(block: Table) -> Iterator[str]:
    yield f"{block.title}   | {' · '.join(block.columns)}" if block.columns else block.title
    yield from _rows(
        [[format_number(value, block) for value in row] for row in block.values], block.rows
    )


def _bar_chart(block: BarChart) -> Iterator[str]:
    """The values of each name, group by group, with their confidence intervals."""
    x_label = [f"→ {block.x_label}"] if block.x_label else []
    yield "   ".join(
        [block.title, *x_label, *([f"| {' · '.join(block.groups)}"] * bool(block.groups))]
    )
    numbers = [[format_number(value, block) for value in row] for row in block.values]
    if block.lows and block.highs:
        numbers = [
            [
                f"{number} [{format_number(low, block)}, {format_number(high, block)}]"
                if isfinite(low + high)
                else number
                for number, low, high in zip(*rows, strict=True)
            ]
            for rows in zip(numbers, block.lows, block.highs, strict=True)
        ]
    yield from _rows(list(zip(*numbers, strict=True)), block.names)


def _rows(numbers: Sequence[Sequence[str]], names: Sequence[str]) -> Iterator[str]:
    """Numbers in columns of one width, each row with its name last."""
    wide = max(len(number) for row in numbers for number in row)
    for row, cells in enumerate(numbers):
        name = f"   {names[row]}" if names else ""
        yield "  " + "  ".join(f"{cell:>{wide}}" for cell in cells) + name


def _number(value: int | float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
