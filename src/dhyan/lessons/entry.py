"""A lesson as the list has it."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from dhyan.lessons.shown import Shown


@dataclass(frozen=True)
class Lesson:
    """A rung of the ladder: a function of its own name in a module, and a line about it."""

    name: str
    rung: str
    module: str
    english: str
    hindi: str

    def load(self) -> "Callable[..., Shown]":
        """The function itself."""
        found: Any = getattr(import_module(f"dhyan.lessons.{self.module}"), self.name)
        return found
