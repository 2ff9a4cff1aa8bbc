"""Blocks of a lesson page: paragraphs, tables, heat maps, line and bar charts, scatter plots."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan
from typing import Any, Literal

from torch import Tensor

from dhyan.errors import UserError

Rows = tuple[tuple[float, ...], ...]
Style = Literal["solid", "dashed", "dotted"]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """Numbers with a name for each row and column.

    Attention `weights` are coloured from 0 to 1 and written without the leading 0. `operator` is
    the sign before the next table of the line: ·, =, →. Without `commas` thousands are not set
    apart; a `compact` table is drawn small and without its numbers.
    """

    title: str
    values: Rows
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    weights: bool = False
    digits: int = 2
    operator: str = ""
    commas: bool = True
    compact: bool = False

    def __post_init__(self) -> None:
        """A name too many or too few would shift every number."""
        for names, count in ((self.rows, len(self.values)), (self.columns, len(self.values[0]))):
            if names and len(names) != count:
                raise UserError(f"{self.title}: {len(names)} names for {count} rows or columns")


@dataclass(frozen=True)
class Curve:
    """A curve: its value at each x tick, with 95 % confidence limits if they are known."""

    name: str
    values: Sequence[int | float | None]
    lows: Sequence[int | float | None] = ()
    highs: Sequence[int | float | None] = ()
    style: Style = "solid"


@dataclass(frozen=True)
class LineChart:
    """A line chart over a categorical x axis, with a logarithmic y axis if `log`.

    `gap_note` explains, below the chart, where a curve is broken: a value is missing, infinite or,
    on a logarithmic axis, not positive.
    """

    title: str
    curves: tuple[Curve, ...]
    x_ticks: tuple[str, ...]
    x_label: str
    y_label: str
    log: bool = False
    gap_note: str = ""

    @property
    def has_gaps(self) -> bool:
        """Whether a value cannot be drawn."""
        values = [value for curve in self.curves for value in curve.values]
        return any(not is_drawable(value, log=self.log) for value in values)


@dataclass(frozen=True)
class Point:
    """A point of a scatter plot, with a name or without; its `group` sets colour and shape."""

    name: str
    x: int | float
    y: int | float
    faint: bool = False
    group: int = 0


@dataclass(frozen=True)
class ScatterPlot:
    """A scatter plot with arrows; `groups` names the groups of points in the legend."""

    title: str
    points: tuple[Point, ...]
    arrows: tuple[tuple[int | float, int | float, int | float, int | float], ...] = ()
    x_label: str = ""
    y_label: str = ""
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """There is at least one point, and all coordinates are finite."""
        if not self.points:
            raise UserError(f"{self.title}: there is no point to draw")
        if not all(isfinite(point.x) and isfinite(point.y) for point in self.points):
            raise UserError(f"{self.title}: a point has a coordinate that is not finite")


@dataclass(frozen=True)
class BarChart:
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
    x_label: str = ""
    y_label: str = ""
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


Block = Paragraph | Table | LineChart | ScatterPlot | BarChart


def table(
    title: str,
    values: Tensor | Sequence[Sequence[int | float]],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    digits: int = 2,
    operator: str = "",
    commas: bool = True,
    compact: bool = False,
) -> Table:
    """A table of a matrix, or of a vector as one row."""
    names = tuple(rows), tuple(columns)
    return Table(title, _rows(values), *names, False, digits, operator, commas, compact)


def heatmap(
    title: str,
    values: Tensor | Sequence[Sequence[int | float]],
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    digits: int = 2,
    operator: str = "",
    compact: bool = False,
) -> Table:
    """A table of attention weights or other shares, coloured from 0 to 1."""
    shares = table(title, values, rows, columns, digits=digits, operator=operator, compact=compact)
    return replace(shares, weights=True)


def bar_chart(
    title: str,
    names: Sequence[str],
    values: Tensor | Sequence[int | float] | Sequence[Sequence[int | float]],
    groups: Sequence[str] = (),
    *,
    lows: Tensor | Sequence[int | float] | Sequence[Sequence[int | float]] = (),
    highs: Tensor | Sequence[int | float] | Sequence[Sequence[int | float]] = (),
    x_label: str = "",
    y_label: str = "",
    digits: int = 2,
    commas: bool = True,
) -> BarChart:
    """Bars of a vector, or of a matrix with a row for each group."""
    numbers, low, high = map(_rows, (values, lows, highs))
    named = tuple(names), numbers, tuple(groups)
    return BarChart(title, *named, low, high, x_label, y_label, digits, commas)


def _rows(values: Tensor | Sequence[int | float] | Sequence[Sequence[int | float]]) -> Rows:
    """The numbers of a matrix, or of a vector as one row."""
    rows: Sequence[Any] = values.detach().tolist() if isinstance(values, Tensor) else values
    if len(rows) and isinstance(rows[0], int | float):
        rows = [rows]
    return tuple(tuple(map(float, row)) for row in rows)


def is_drawable(value: int | float | None, *, log: bool = False) -> bool:
    """Whether a curve has a point at a value: it is present, finite and, for `log`, positive."""
    return value is not None and isfinite(value) and not (log and value <= 0)


def format_number(value: float, block: Table | BarChart) -> str:
    """A number as text: weights without the leading 0, integers without a decimal point."""
    if isnan(value):
        return "–"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    if isinstance(block, Table) and block.weights:
        return f"{value:.{block.digits}f}".removeprefix("0")
    numbers = [number for row in block.values for number in row if isfinite(number)]
    integral = all(number == int(number) for number in numbers)
    comma, digits = "," if block.commas else "", 0 if integral else block.digits
    return f"{value:{comma}.{digits}f}".replace("-", "−")
