"""Contents of lessons as values: text, tables, line charts, bar charts and scatter plots."""

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
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """Numbers with a name for each row and column; weights are coloured from 0 to 1.

    `after` is the operator before the next table of the line: ·, =, →. Without `commas`
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
    """A curve: its value at each place, with 95 % confidence limits if they are known."""

    name: str
    values: Sequence[int | float | None]
    lows: Sequence[int | float | None] = ()
    highs: Sequence[int | float | None] = ()
    style: Style = "solid"


@dataclass(frozen=True)
class Lines:
    """A line chart over named places, with a logarithmic axis if `log`.

    `gaps` explains, below the chart, where a curve is broken: a value is missing, infinite or,
    on a logarithmic axis, not positive.
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
        values = [value for curve in self.curves for value in curve.values]
        return any(not is_drawable(value, log=self.log) for value in values)


@dataclass(frozen=True)
class Point:
    """A point of a scatter plot, with a name or without; `kind` sets its colour and shape."""

    name: str
    x: int | float
    y: int | float
    faint: bool = False
    kind: int = 0


@dataclass(frozen=True)
class Plane:
    """A scatter plot with arrows; `kinds` names the kinds of points in the legend."""

    title: str
    points: tuple[Point, ...]
    moves: tuple[tuple[int | float, int | float, int | float, int | float], ...] = ()
    across: str = ""
    up: str = ""
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """There is at least one point, and all coordinates are finite."""
        if not self.points:
            raise UserError(f"{self.title}: there is no point to draw")
        if not all(isfinite(point.x) and isfinite(point.y) for point in self.points):
            raise UserError(f"{self.title}: a point has a coordinate that is not finite")


@dataclass(frozen=True)
class Bars:
    """A bar for each name, or one in each of at most three groups, with its value at its end.

    `values` has a row for each group, as have `lows` and `highs`, the 95 % confidence
    limits, if they are known; what is missing is nan.
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
    rows: Sequence[Any] = values.detach().tolist() if isinstance(values, Tensor) else values
    if len(rows) and isinstance(rows[0], int | float):
        rows = [rows]
    return tuple(tuple(map(float, row)) for row in rows)


def is_drawable(value: int | float | None, *, log: bool = False) -> bool:
    """Whether a curve has a point at a value: it is present, finite and, for `log`, positive."""
    return value is not None and isfinite(value) and not (log and value <= 0)


def format_number(value: float, part: Table | Bars) -> str:
    """A number as text: weights without the leading 0, integers without a decimal point."""
    if isnan(value):
        return "–"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    if isinstance(part, Table) and part.kind == "weights":
        return f"{value:.{part.digits}f}".removeprefix("0")
    numbers = [number for row in part.values for number in row if isfinite(number)]
    integral = all(number == int(number) for number in numbers)
    comma, digits = "," if part.commas else "", 0 if integral else part.digits
    return f"{value:{comma}.{digits}f}".replace("-", "−")
