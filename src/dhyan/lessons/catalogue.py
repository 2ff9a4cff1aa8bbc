"""The texts of the lessons in English and in Hindi, read from `text/en.toml` and `text/hi.toml`.

A text is found by the table of its lesson and its key: `text("luong.title")`. A field is written
`{name}` or `{name:.2f}`; `{name:yes|no}` stands for one of two texts, by whether the value is true.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

from dhyan.errors import UserError

LANGUAGES = ("en", "hi")


class Text:
    """The texts of one language, by key; the values of their fields are keyword arguments."""

    def __init__(self, lang: str) -> None:
        """A catalogue of English (`en`) or Hindi (`hi`)."""
        if lang not in LANGUAGES:
            raise UserError(f"lessons are written in {' and '.join(LANGUAGES)}, not in {lang!r}")
        self.lang = lang

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of a key, with its fields filled in."""
        lesson, _, name = key.partition(".")
        return _CHOICES.vformat(read_catalogue(self.lang)[lesson][name], (), values)


@cache
def read_catalogue(lang: str) -> Mapping[str, Mapping[str, str]]:
    """Every text of a language, by lesson and key."""
    file = files("dhyan.lessons") / "text" / f"{lang}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


class _FormatterWithChoices(Formatter):
    """Python's format syntax, and `{condition:yes|no}`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if "|" not in format_spec:
            return str(super().format_field(value, format_spec))
        yes, no = format_spec.split("|")
        return yes if value else no


_CHOICES = _FormatterWithChoices()
