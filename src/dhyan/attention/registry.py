"""Mechanisms from a user's own file, by the name a recipe calls them."""

from collections.abc import Callable
from typing import TypeVar

from dhyan.attention.protocol import Attention, Score

Make = Callable[[int, int], Score | Attention]
"""From the widths of a query and of the states to a score, or to a whole attention."""

BUILT_IN = (
    "bottleneck",
    "additive",
    "concat",
    "dot",
    "scaled_dot",
    "general",
    "location",
    "coverage",
)
_registered: dict[str, Make] = {}
Kept = TypeVar("Kept", bound=Make)


def register(name: str) -> Callable[[Kept], Kept]:
    """Let recipes say `kind = "name"`: put this above a class, or a function that makes one.

    It is called with the width of the query and that of the states. What it makes is a Score, which
    then gets heads and windows like any other, or an Attention, which is taken as it is.
    """
    if name in BUILT_IN:
        raise ValueError(f"{name!r} is a mechanism of dhyan's own: choose another name")

    def keep(make: Kept) -> Kept:
        _registered[name] = make
        return make

    return keep


def registered(name: str) -> Make | None:
    """What was registered under a name, if anything was."""
    return _registered.get(name)


def mechanisms() -> list[str]:
    """Every name a recipe may call a mechanism."""
    return [*BUILT_IN, *_registered]
