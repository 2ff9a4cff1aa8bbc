"""The first of each kind of a stream that repeats itself."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
PATIENCE = 10_000


def distinct(items: Iterable[Item], key: Callable[[Item], str], count: int) -> Iterator[Item]:
    """So many that differ in their key, or fewer if nothing new has come for a long while."""
    seen, old = set[str](), 0
    for item in items:
        if len(seen) == count or old == PATIENCE:
            return
        name = key(item)
        old = old + 1 if name in seen else 0
        if name not in seen:
            seen.add(name)
            yield item
