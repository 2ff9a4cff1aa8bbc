"""What a lesson shows, as values: sentences, tables, lines, bars, and points in the plane."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any, Literal

from torch import Tensor

from dhyan.errors import UserError

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

    `after` is the sign that stands before the next table of the line: ·, =, →. Without `commas`
    thousands are not set apart; a `bare` table is drawn small and without its numbers.
    """

    title: str
    values: Rows
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    kind: Kind = "numbers"
    digits: int = 2
    after: str = ""
    commas: bool = True
    bare: bool = False

    def __post_init__(self) -> None:
        """A name too many or too few would shift every number."""
        for names, count in ((self.rows, len(self.values)), (self.columns, len(self.values[0]))):
            if names and len(names) != count:
                raise UserError(f"{self.title}: {len(names)} names for {count} rows or columns")


@dataclass(frozen=True)
class Curve:
    """A system's measure at each place, and where it lies with 95 % certainty, if that is known.

    Systems of one kind are drawn in one style.
    """

    name: str
    values: Sequence[int | float | None]
    lows: Sequence[int | float | None] = ()
    highs: Sequence[int | float | None] = ()
    style: Style = "solid"


@dataclass(frozen=True)
class Lines:
    """Curves over named places; `log` if heights are drawn by their logarithms.

    `gaps` says, under the curves, what it means where one is broken: a value is missing, infinite
    or, by logarithms, not above 0.
    """

    title: str
    curves: tuple[Curve, ...]
    places: tuple[str, ...]
    across: str
    up: str
    log: bool = False
    gaps: str = ""

    @property
    def broken(self) -> bool:
        """Whether a value cannot be drawn."""
        values = [value for one in self.curves for value in one.values]
        return any(not drawn(value, log=self.log) for value in values)


@dataclass(frozen=True)
class Point:
    """A place in the plane, with a name or without; `faint` if it was there before.

    `kind` is its colour and its shape.
    """

    name: str
    x: int | float
    y: int | float
    faint: bool = False
    kind: int = 0


@dataclass(frozen=True)
class Plane:
    """Points, and moves from one place to another; `kinds` names the kinds of points in a key."""

    title: str
    points: tuple[Point, ...]
    moves: tuple[tuple[int | float, int | float, int | float, int | float], ...] = ()
    across: str = ""
    up: str = ""
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """A plane shows a point at least, and each has its place."""
        if not self.points:
            raise UserError(f"{self.title}: there is no point to draw")
        if not all(isfinite(one.x) and isfinite(one.y) for one in self.points):
            raise UserError(f"{self.title}: a point lies nowhere; give finite numbers")


@dataclass(frozen=True)
class Bars:
    """A bar for each name, or one in each of at most three groups, with its value at its end.

    `values` has a row for each group, as have `lows` and `highs`, which say where a value lies with
    95 % certainty, if that is known; what is missing is nan.
    """

    title: str
    names: tuple[str, ...]
    values: Rows
    groups: tuple[str, ...] = ()
    lows: Rows = ()
    highs: Rows = ()
    across: str = ""
    up: str = ""
    digits: int = 2
    commas: bool = True

    def __post_init__(self) -> None:
        """Every group has a value for every name."""
        if not 1 <= len(self.values) <= 3 or not self.names:
            raise UserError(f"{self.title}: bars have one to three groups, and names")
        for rows in filter(None, (self.values, self.lows, self.highs)):
            if [len(row) for row in rows] != [len(self.names)] * len(self.values):
                raise UserError(f"{self.title}: a bar is missing, or one has no name")
        if self.groups and len(self.groups) != len(self.values):
            raise UserError(
                f"{self.title}: {len(self.groups)} names for {len(self.values)} groups of bars"
            )


Part = Words | Table | Lines | Plane | Bars


def table(
    title: str,
    values: Tensor | Sequence[Sequence[int | float]],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    kind: Kind = "numbers",
    digits: int = 2,
    after: str = "",
    commas: bool = True,
    bare: bool = False,
) -> Table:
    """A table of a matrix, or of a vector as one row."""
    names = tuple(rows), tuple(columns)
    return Table(title, _rows(values), *names, kind, digits, after, commas, bare)


def bars(
    title: str,
    names: Sequence[str],
    values: Tensor | Sequence[int | float] | Sequence[Sequence[int | float]],
    groups: Sequence[str] = (),
    *,
    lows: Tensor | Sequence[int | float] | Sequence[Sequence[int | float]] = (),
    highs: Tensor | Sequence[int | float] | Sequence[Sequence[int | float]] = (),
    across: str = "",
    up: str = "",
    digits: int = 2,
    commas: bool = True,
) -> Bars:
    """Bars of a vector, or of a matrix with a row for each group."""
    numbers, low, high = map(_rows, (values, lows, highs))
    named = tuple(names), numbers, tuple(groups)
    return Bars(title, *named, low, high, across, up, digits, commas)


def _rows(values: Tensor | Sequence[int | float] | Sequence[Sequence[int | float]]) -> Rows:
    """The numbers of a matrix, or of a vector as one row."""
    given: Sequence[Any] = values.detach().tolist() if isinstance(values, Tensor) else values
    if len(given) and isinstance(given[0], int | float):
        given = [given]
    return tuple(tuple(map(float, row)) for row in given)


def drawn(value: int | float | None, *, log: bool = False) -> bool:
    """Whether a curve can go through a value."""
    return value is not None and isfinite(value) and not (log and value <= 0)


def said(value: float, part: Table | Bars) -> str:
    """A number as its part writes it: weights without their 0, whole numbers without a point."""
    if isnan(value):
        return "–"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    if isinstance(part, Table) and part.kind == "weights":
        return f"{value:.{part.digits}f}".removeprefix("0")
    whole = all(one == int(one) for row in part.values for one in row if isfinite(one))
    comma, digits = "," if part.commas else "", 0 if whole else part.digits
    return f"{value:{comma}.{digits}f}".replace("-", "−")
