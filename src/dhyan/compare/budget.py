"""Training budget of a comparison: a number of steps, or a time."""

import re
from dataclasses import dataclass

from dhyan.errors import UserError

UNITS = {"s": 1, "m": 60, "h": 3600}
NUMBER = (
    r"\d{1,3}(?:,\d{3})+|\d[\d_]*(?:\.\d+)?"  # commas between thousands, a point before fractions
)
ENDLESS = 1_000_000_000  # more steps than any time budget allows


@dataclass(frozen=True)
class Budget:
    """Steps or seconds; the other is 0. Validation and saving do not count as training time."""

    steps: int = 0
    seconds: float = 0.0

    @property
    def last_step(self) -> int:
        """The step a run ends at, unless its time is over before."""
        return self.steps or ENDLESS

    def __str__(self) -> str:
        return f"{self.steps:,} steps" if self.steps else f"{self.seconds:g} seconds of training"


def parse_budget(text: str) -> Budget:
    """`10m`, `90s` or `1h` of training, or a plain number of steps."""
    match = re.fullmatch(rf"\s*({NUMBER})\s*([smh]?)\s*", text)
    number = float(re.sub("[_,]", "", match[1])) if match else 0.0
    if not match or not number or (not match[2] and number != int(number)):
        raise UserError(
            f"--budget {text}: give a number of steps, or a time such as 90s, 10m or 1h"
        )
    if match[2]:
        return Budget(seconds=number * UNITS[match[2]])
    return Budget(steps=int(number))


def parse_count(text: str) -> int:
    """`2M`, `300k` or a plain number of parameters; an empty text is 0."""
    match = re.fullmatch(rf"\s*({NUMBER})\s*([kM]?)\s*", text)
    number = float(re.sub("[_,]", "", match[1])) if match else 0.0
    if text and not number:
        raise UserError(f"--parameters {text}: give a number such as 2M, 300k or 1500000")
    return round(number * {"k": 1e3, "M": 1e6}.get(match[2], 1.0)) if match else 0
