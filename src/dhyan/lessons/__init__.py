"""Lessons on attention, one idea each: data in, numbers out, one figure."""

from typing import Any


def __getattr__(name: str) -> Any:
    """A lesson is imported when it is first used."""
    from dhyan.lessons.catalogue import LESSONS

    for lesson in LESSONS:
        if lesson.name == name:
            return lesson.load()
    raise AttributeError(f"module 'dhyan.lessons' has no lesson {name!r}")


def __dir__() -> list[str]:
    from dhyan.lessons.catalogue import LESSONS

    return [lesson.name for lesson in LESSONS]
