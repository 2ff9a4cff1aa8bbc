"""What a lesson shows, as plain lines: numbers first, and every name last on its line.

Terminals disagree on how wide Hindi is, so nothing stands to the right of a word but words.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from statistics import fmean
from textwrap import wrap

from dhyan.insight.blocks import Bars, Lines, Part, Plane, Table, Words, said

WIDTH = 92


def printed(title: str, parts: Iterable[Part], *, width: int = WIDTH) -> str:
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
            numbers = [[_number(value) for value in one.values] for one in part.curves]
            yield from _rows(numbers, [one.name for one in part.curves])
            if part.broken and part.gaps:
                yield f"  {part.gaps}"
        case Plane():
            yield from _plane(part)
        case Bars():
            yield from _bars(part)


def _plane(part: Plane) -> Iterator[str]:
    """Each point with a name; of the others of a kind how many there are, and their mean."""
    axes = [f"{sign} {name}" for sign, name in (("→", part.across), ("↑", part.up)) if name]
    yield "   ".join([part.title, *axes])
    for one in part.points:
        if one.name:
            yield _at(one.x, one.y, one.name, _kind(part, one.kind))
    for kind in sorted({one.kind for one in part.points if not one.name}):
        some = [one for one in part.points if not one.name and one.kind == kind]
        x, y = (fmean(getattr(one, axis) for one in some) for axis in "xy")
        yield _at(x, y, f"x̄, n = {len(some)}", _kind(part, kind))


def _at(x: int | float, y: int | float, *names: str) -> str:
    return f"  ({x:8.3f}, {y:8.3f})  {' · '.join(filter(None, names))}"


def _kind(part: Plane, kind: int) -> str:
    return part.kinds[kind] if kind < len(part.kinds) else ""


def _table(part: Table) -> Iterator[str]:
    yield f"{part.title}   | {' · '.join(part.columns)}" if part.columns else part.title
    yield from _rows([[said(value, part) for value in row] for row in part.values], part.rows)


def _bars(part: Bars) -> Iterator[str]:
    """The values of each name, group by group, with what is certain of them."""
    across = [f"→ {part.across}"] if part.across else []
    yield "   ".join([part.title, *across, *([f"| {' · '.join(part.groups)}"] * bool(part.groups))])
    numbers = [[said(value, part) for value in row] for row in part.values]
    if part.lows and part.highs:
        numbers = [
            [
                f"{number} [{said(low, part)}, {said(high, part)}]"
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
