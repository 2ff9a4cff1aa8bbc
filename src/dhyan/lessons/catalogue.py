"""The catalogue: every lesson by section, with its title and text in English and Hindi.

A lesson is the function of its own name in `lessons/<section>/<name>.py`. Its table in
`text/en.toml` has its summary and gives its place in the list, so `dhyan lesson` lists the lessons
without importing one, and without torch.

A text is found by the table of its lesson and its key, `text("luong.title")`; inside a lesson the
key alone will do, `text("title")`. A field is written
`{name}` or `{name:.2f}`; `{name:yes|no}` stands for one of two texts, by whether the value is true.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.insight.lesson_blocks import Paragraph

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "hi")


class Text:
    """The texts of one language, by key; a key without a table is one of `lesson`.

    Fields are filled from keyword arguments, and those without one from the attributes of `result`.
    """

    def __init__(self, lang: str, lesson: str = "", result: object = None) -> None:
        """A catalogue of English (`en`) or Hindi (`hi`)."""
        if lang not in LANGUAGES:
            raise UserError(f"lessons are written in {' and '.join(LANGUAGES)}, not in {lang!r}")
        self.lang, self.lesson, self.result = lang, lesson, result

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of a key, with its fields filled in."""
        lesson, _, name = key.rpartition(".")
        template = read_catalogue(self.lang)[lesson or self.lesson][name]
        return _FORMATTER.vformat(template, (), _Fields(self.result, values))

    def paragraph(self, key: str, /, **values: object) -> "Paragraph":
        """The text of a key as a paragraph."""
        from dhyan.insight.lesson_blocks import Paragraph

        return Paragraph(self(key, **values))


@cache
def read_catalogue(lang: str) -> Mapping[str, Mapping[str, str]]:
    """Every text of a language, by lesson and key."""
    return tomllib.loads((FOLDER / "text" / f"{lang}.toml").read_text(encoding="utf-8"))


class _Fields(dict[str, object]):
    """Values by field name; one that is missing is an attribute of the result."""

    def __init__(self, result: object, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self.result = result

    def __missing__(self, name: str) -> object:
        return getattr(self.result, name)


class _FormatterWithChoices(Formatter):
    """Python's format syntax, and `{condition:yes|no}`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if "|" not in format_spec:
            return str(super().format_field(value, format_spec))
        yes, no = format_spec.split("|")
        return yes if value else no


_FORMATTER = _FormatterWithChoices()


@dataclass(frozen=True)
class Lesson:
    """A lesson's name and the section it belongs to."""

    name: str
    section: str

    @property
    def module(self) -> str:
        """The module that defines it."""
        return f"dhyan.lessons.{self.section}.{self.name}"

    def summary(self, lang: str = "en") -> str:
        """A summary of one line."""
        return Text(lang)(f"{self.name}.summary")

    def load(self) -> Callable[..., Any]:
        """The function, which returns a `LessonResult`."""
        return getattr(import_module(self.module), self.name)


def _list_lessons() -> dict[str, tuple[str, ...]]:
    """The names of the lessons by section, in the order in which they build on one another."""
    catalogue = read_catalogue("en")
    return {
        section: tuple(
            name
            for name, texts in catalogue.items()
            if "summary" in texts and (FOLDER / section / f"{name}.py").is_file()
        )
        for section in catalogue["sections"]
    }


SECTIONS = _list_lessons()
LESSONS = tuple(Lesson(name, section) for section, names in SECTIONS.items() for name in names)


def find_lesson(name: str) -> Lesson:
    """The lesson of a name; `-` and `_` are the same."""
    for lesson in LESSONS:
        if lesson.name == name.replace("-", "_"):
            return lesson
    near = get_close_matches(name, [lesson.name for lesson in LESSONS], n=1)
    hint = f" did you mean {near[0]}?" if near else ""
    raise UserError(f"there is no lesson {name!r};{hint} `dhyan lesson` lists them")
