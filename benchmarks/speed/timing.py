"""Throughput measurements: repeats, rows, tables."""

import gc
import statistics
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any, ClassVar

import torch

Log = Callable[[str], None]
TRAINED = "target tokens/s"


@dataclass(frozen=True)
class Row:
    """One figure: system, setting, and the median and range of its repeats."""

    who: str
    at: str
    unit: str
    median: float
    low: float
    high: float
    repeats: int
    note: str = ""

    @classmethod
    def of(
        cls, who: str, at: str, unit: str, measurements: Sequence[float], note: str = ""
    ) -> "Row":
        """The row of several measurements."""
        low, high = min(measurements), max(measurements)
        return cls(
            who, at, unit, statistics.median(measurements), low, high, len(measurements), note
        )

    def __str__(self) -> str:
        spread = f"{short_number(self.low)}–{short_number(self.high)} of {self.repeats}"
        note = f"; {self.note}" if self.note else ""
        return f"{self.who} | {self.at} | {short_number(self.median)} {self.unit} ({spread}{note})"


@dataclass(frozen=True)
class Effort:
    """How long to measure: steps per window, windows, and whether to check results first."""

    steps: int
    windows: int
    checks: bool = True


@dataclass
class Table:
    """Rows of a benchmark; an error in one system is recorded and the others still run."""

    shapes: dict[str, Any]
    log: Log
    rows: list[Row] = field(default_factory=list)
    checks: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    last: ClassVar["Table | None"] = None

    def __post_init__(self) -> None:
        Table.last = self

    def add(self, row: Row) -> None:
        """Add a row and log it."""
        self.rows.append(row)
        self.log(str(row))

    def check(self, name: str, measurements: Any) -> None:
        """Record the outcome of a correctness check."""
        self.checks[name] = measurements
        self.log(f"checked {name}: {measurements}")

    @contextmanager
    def trying(self, who: str) -> Iterator[None]:
        """Record an exception raised inside the block; free cached memory afterwards."""
        try:
            yield
        except Exception as error:  # other libraries raise anything
            self.failed[who] = f"{type(error).__name__}: {error}"[:500]
            self.log(f"FAILED {who}\n{traceback.format_exc()}")
        finally:
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def figures(self) -> dict[str, Any]:
        """Everything, for the result file."""
        rows = [asdict(row) for row in self.rows]
        return {
            "shapes": self.shapes,
            "checks": self.checks,
            "rows": rows,
            "failed": self.failed,
        }


def throughputs(
    work: Callable[[], object], amount: float, *, repeats: int = 5, warm: int = 1
) -> list[float]:
    """Amount per second in each of several repeats."""
    for _ in range(warm):
        work()
    synchronize()
    return [amount / _seconds(work) for _ in range(repeats)]


def synchronize() -> None:
    """Wait until the device is idle."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def short_number(number: float) -> str:
    """A number as the tables print it: 4.21, 57.3k, 1.02M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}" if abs(number) < 1000 * size else f"{number:.3g}"
    return f"{number:.3g}"


def _seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    synchronize()
    return perf_counter() - start
