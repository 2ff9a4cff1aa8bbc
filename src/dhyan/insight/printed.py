"""What a lesson shows, as plain lines: numbers first, and every name last on its line.

Terminals disagree on how wide Hindi is, so nothing stands to the right of a word but words.
"""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from dhyan.insight.parts import Lines, Part, Plane, Table, Words, said

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
        case Plane():
            yield part.title
            for one in part.points:
                yield f"  ({one.x:8.3f}, {one.y:8.3f})  {one.name}"


def _table(part: Table) -> Iterator[str]:
    yield f"{part.title}   | {' · '.join(part.columns)}" if part.columns else part.title
    yield from _rows([[said(value, part) for value in row] for row in part.values], part.rows)


def _rows(numbers: Sequence[Sequence[str]], names: Sequence[str]) -> Iterator[str]:
    """Numbers in columns of one width, each row with its name last."""
    wide = max(len(number) for row in numbers for number in row)
    for row, cells in enumerate(numbers):
        name = f"   {names[row]}" if names else ""
        yield "  " + "  ".join(f"{cell:>{wide}}" for cell in cells) + name


def _number(value: int | float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
