"""Lessons on attention, one idea each: data in, numbers out, one figure."""

from typing import Any

from dhyan.lessons.registry import LESSONS


def __getattr__(name: str) -> Any:
    """A lesson is imported when it is first used."""
    for lesson in LESSONS:
        if lesson.name == name:
            return lesson.load()
    raise AttributeError(f"module 'dhyan.lessons' has no lesson {name!r}")


def __dir__() -> list[str]:
    return [lesson.name for lesson in LESSONS]
