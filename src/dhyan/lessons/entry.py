"""A lesson as the list has it."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

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
        """The function itself, which looks at what it is given first."""
        return _loaded(self.module, self.name)


@cache
def _loaded(module: str, name: str) -> "Callable[..., Shown]":
    from dhyan.lessons.fitting import checked

    return checked(getattr(import_module(f"dhyan.lessons.{module}"), name))
