"""What a lesson shows, as values: sentences, tables of numbers, lines, and points in the plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from torch import Tensor

from dhyan.faults import Fault

Rows = tuple[tuple[float, ...], ...]
Kind = Literal["weights", "numbers"]
Style = Literal["solid", "dashed", "dotted"]


@dataclass(frozen=True)
class Words:
    """A sentence or a few."""

    text: str


@dataclass(frozen=True)
class Table:
    """Numbers with a name for each row and column; weights are coloured from 0 to 1.

    `after` is the sign that stands before the next table of the line: ·, =, →.
    """

    title: str
    values: Rows
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    kind: Kind = "numbers"
    digits: int = 2
    after: str = ""

    def __post_init__(self) -> None:
        """A name too many or too few would shift every number."""
        for names, count in ((self.rows, len(self.values)), (self.columns, len(self.values[0]))):
            if names and len(names) != count:
                raise Fault(f"{self.title}: {len(names)} names for {count} rows or columns")


@dataclass(frozen=True)
class Curve:
    """A system's measure at each place, and where it lies with 95 % certainty, if that is known.

    Systems of one kind are drawn in one style.
    """

    name: str
    values: Sequence[int | float | None]
    lows: Sequence[float | None] = ()
    highs: Sequence[float | None] = ()
    style: Style = "solid"


@dataclass(frozen=True)
class Lines:
    """Curves over named places."""

    title: str
    curves: tuple[Curve, ...]
    places: tuple[str, ...]
    across: str
    up: str


@dataclass(frozen=True)
class Point:
    """A place in the plane with a name; `faint` if it was there before, `kind` is its colour."""

    name: str
    x: int | float
    y: int | float
    faint: bool = False
    kind: int = 0


@dataclass(frozen=True)
class Plane:
    """Points, and moves from one place to another."""

    title: str
    points: tuple[Point, ...]
    moves: tuple[tuple[int | float, int | float, int | float, int | float], ...] = ()
    across: str = ""
    up: str = ""


Part = Words | Table | Lines | Plane


def table(
    title: str,
    values: Tensor | Sequence[Sequence[int | float]],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    kind: Kind = "numbers",
    digits: int = 2,
    after: str = "",
) -> Table:
    """A table of a matrix, or of a vector as one row."""
    given = values.detach().double().cpu() if isinstance(values, Tensor) else values
    if isinstance(given, Tensor):
        given = (given if given.ndim > 1 else given.unsqueeze(0)).tolist()
    numbers = tuple(tuple(map(float, row)) for row in given)
    return Table(title, numbers, tuple(rows), tuple(columns), kind, digits, after)


def said(value: float, part: Table) -> str:
    """A number as its table writes it: weights without their 0, whole numbers without a point."""
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    if part.kind == "weights":
        return f"{value:.{part.digits}f}".removeprefix("0")
    if all(one == int(one) for row in part.values for one in row if isfinite(one)):
        return f"{int(value):,}".replace("-", "−")
    return f"{value:,.{part.digits}f}".replace("-", "−")
