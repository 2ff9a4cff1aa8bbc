"""A model on its way to the shelf."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Coming:
    """A model on its way: how far its training is, or why it will not come."""

    name: str
    about: str
    state: Literal["waiting", "running", "done", "failed"]
    step: int = 0
    steps: int = 0
    seconds_left: float | None = None
    problem: str = ""

    def __str__(self) -> str:
        """As the terminal has it."""
        left = "" if self.seconds_left is None else f", {self.seconds_left:.0f} s left"
        return f"{self.name} step {self.step:,} of {self.steps:,}{left}"
