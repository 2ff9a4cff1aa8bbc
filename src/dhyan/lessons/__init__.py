"""Ideas of the ladder, one at a time: data in, numbers out, one figure."""

from typing import Any

from dhyan.lessons.contents import LESSONS


def __getattr__(name: str) -> Any:
    """A lesson is fetched when it is first used."""
    for one in LESSONS:
        if one.name == name:
            return one.load()
    raise AttributeError(f"module 'dhyan.lessons' has no lesson {name!r}")


def __dir__() -> list[str]:
    return [one.name for one in LESSONS]
