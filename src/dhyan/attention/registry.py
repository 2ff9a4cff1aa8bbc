"""Registry of attention mechanisms: the built-in names, and those of users' plug-ins."""

from collections.abc import Callable
from typing import TypeVar

from dhyan.attention.protocol import Attention, Score

Factory = Callable[[int, int], Score | Attention]
"""From the widths of the query and of the states to a score, or to a whole attention."""

BUILT_IN = (
    "bottleneck",
    "additive",
    "concat",
    "dot",
    "scaled_dot",
    "general",
    "location",
    "coverage",
    "location_aware",
)
_registered: dict[str, Factory] = {}
AnyFactory = TypeVar("AnyFactory", bound=Factory)


def register(name: str) -> Callable[[AnyFactory], AnyFactory]:
    """Decorator: recipes may say `score = "name"` for this class, or for what a function makes.

    It is called with the width of the query and that of the states. It makes a Score, which then
    gets heads and windows like any other, or an Attention, which is used unchanged.

    >>> from dhyan.attention.multiplicative import GeneralScore
    >>> @dhyan.register("my_general")
    ... def my_general(query_width, states_width):
    ...     return GeneralScore(query_width, states_width)
    >>> settings = {"decoder.attention.score": "my_general"}
    >>> dhyan.load_recipe("numbers", settings).decoder.attention.score
    'my_general'
    """
    if name in BUILT_IN:
        raise ValueError(f"{name!r} is a built-in attention mechanism: choose another name")

    def add(factory: AnyFactory) -> AnyFactory:
        _registered[name] = factory
        return factory

    return add


def registered_factory(name: str) -> Factory | None:
    """The class or function registered under a name, if any."""
    return _registered.get(name)


def mechanism_names() -> list[str]:
    """Every name a recipe may use for an attention mechanism."""
    return [*BUILT_IN, *_registered]
