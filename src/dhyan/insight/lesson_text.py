"""Lessons as plain text for a terminal: numbers first, every name last on its line.

Terminals disagree on how wide Hindi is, so nothing stands to the right of a word but words.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from statistics import fmean
from textwrap import wrap

from dhyan.insight.blocks import Bars, Lines, Part, Plane, Table, Words, format_number

WIDTH = 92


def as_plain_text(title: str, parts: Iterable[Part], *, width: int = WIDTH) -> str:
    """A title and its parts, with an empty line between any two."""
    blocks = [title, *("\n".join(_lines(part, width)) for part in parts)]
    return "\n\n".join(blocks)


def _lines(part: Part, width: int) -> Iterator[str]:
    match part:
        case Words():
            yield from wrap(part.text, width) or [""]
        case Table():
            yield from _table(part)
        case Lines():
            yield f"{part.title}   {part.up} / {part.across}: {' · '.join(part.places)}"
            numbers = [[_number(value) for value in curve.values] for curve in part.curves]
            yield from _rows(numbers, [curve.name for curve in part.curves])
            if part.broken and part.gaps:
                yield f"  {part.gaps}"
        case Plane():
            yield from _plane(part)
        case Bars():
            yield from _bars(part)


def _plane(part: Plane) -> Iterator[str]:
    """Each point with a name; of the others of a kind how many there are, and their mean."""
    axes = [f"{arrow} {name}" for arrow, name in (("→", part.across), ("↑", part.up)) if name]
    yield "   ".join([part.title, *axes])
    for point in part.points:
        if point.name:
            yield _point(point.x, point.y, point.name, _kind_name(part, point.kind))
    for kind in sorted({point.kind for point in part.points if not point.name}):
        group = [point for point in part.points if not point.name and point.kind == kind]
        x, y = fmean(point.x for point in group), fmean(point.y for point in group)
        yield _point(x, y, f"x̄, n = {len(group)}", _kind_name(part, kind))


def _point(x: int | float, y: int | float, *names: str) -> str:
    return f"  ({x:8.3f}, {y:8.3f})  {' · '.join(filter(None, names))}"


def _kind_name(part: Plane, kind: int) -> str:
    return part.kinds[kind] if kind < len(part.kinds) else ""


def _table(part: Table) -> Iterator[str]:
    yield f"{part.title}   | {' · '.join(part.columns)}" if part.columns else part.title
    yield from _rows(
        [[format_number(value, part) for value in row] for row in part.values], part.rows
    )


def _bars(part: Bars) -> Iterator[str]:
    """The values of each name, group by group, with their confidence intervals."""
    across = [f"→ {part.across}"] if part.across else []
    yield "   ".join([part.title, *across, *([f"| {' · '.join(part.groups)}"] * bool(part.groups))])
    numbers = [[format_number(value, part) for value in row] for row in part.values]
    if part.lows and part.highs:
        numbers = [
            [
                f"{number} [{format_number(low, part)}, {format_number(high, part)}]"
                if isfinite(low + high)
                else number
                for number, low, high in zip(*rows, strict=True)
            ]
            for rows in zip(numbers, part.lows, part.highs, strict=True)
        ]
    yield from _rows(list(zip(*numbers, strict=True)), part.names)


def _rows(numbers: Sequence[Sequence[str]], names: Sequence[str]) -> Iterator[str]:
    """Numbers in columns of one width, each row with its name last."""
    wide = max(len(number) for row in numbers for number in row)
    for row, cells in enumerate(numbers):
        name = f"   {names[row]}" if names else ""
        yield "  " + "  ".join(f"{cell:>{wide}}" for cell in cells) + name


def _number(value: int | float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
