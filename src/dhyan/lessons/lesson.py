"""The `@lesson` decorator with argument checks, and `LessonResult` with its page.

A lesson is a function marked by `@lesson`. It returns a `LessonResult`: a dataclass of its numbers
whose `blocks` make the page.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph
from dhyan.lessons.catalogue import Text

if TYPE_CHECKING:
    from dhyan.insight.lesson_figure import Figure

P = ParamSpec("P")
R = TypeVar("R", bound="LessonResult")

LONGEST_REPR = 60  # characters of a value quoted in an error
TYPE_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
}
ELEMENT_NAMES = {str: "words", int: "whole numbers"}

ProgressCallback = Callable[[str], None]


def lesson(function: Callable[P, R]) -> Callable[P, R]:
    """Register a lesson, the function of its file's name.

    Its arguments are checked against their type hints before it runs. Matrices are left to the
    lesson, which knows how many rows and columns they must have.
    """
    parameters, hints = signature(function), get_type_hints(function)

    @wraps(function)
    def checked_lesson(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in parameters.bind(*args, **kwargs).arguments.items():
            if not matches(value, hints[name]):
                raise UserError(f"{name} is {_short_repr(value)}: give {describe(hints[name])}")
        return function(*args, **kwargs)

    return checked_lesson


@dataclass(frozen=True)
class Provenance:
    """The command of a measurement, its machine and versions, its commit and date."""

    command: str
    machine: str
    versions: str
    commit: str
    date: str


@dataclass(frozen=True)
class SeededVectors:
    """The argument whose numbers `seeded_vectors` drew, and the seed.

    `model` is whether the lesson also takes a trained model, with learned numbers instead.
    """

    argument: str
    seed: int
    model: bool = False


@dataclass(frozen=True)
class Page:
    """A title, and blocks (paragraphs, tables, charts) in reading order."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, kw_only=True)
class LessonResult(ABC):
    """A lesson's numbers, and the page that shows them in English or in Hindi.

    Its texts are the catalogue's table named like its module, with the title under "title" or the
    key that the subclass gives: `class EncoderHeads(LessonResult, title="trained_title")`.
    `provenance` is set where the numbers were read from a snapshot and not computed here and now,
    `seeded` where the vectors of the words are random.
    """

    title_key: ClassVar[str]
    provenance: Provenance | None = None
    seeded: SeededVectors | None = None

    def __init_subclass__(cls, *, title: str = "title") -> None:
        cls.title_key = title

    def title(self, text: Text) -> str:
        """The title of the page."""
        return text(self.title_key)

    @abstractmethod
    def blocks(self, text: Text) -> Iterator[Block]:
        """The blocks of the page, with the texts of one language.

        A field of a text without a value is filled from the attribute of its name.
        """

    def render(self, lang: str = "en") -> Page:
        """The page in a language, with a first line about random vectors, if the words have such.

        The last line is about a snapshot's provenance.
        """
        text = Text(lang, type(self).__module__.rpartition(".")[2], self)
        page = Page(self.title(text), (*self._vector_origin(text), *self.blocks(text)))
        if (source := self.provenance) is None:
            return page
        line = text(
            "provenance.snapshot",
            date=source.date,
            machine=source.machine,
            commit=source.commit,
            command=source.command,
        )
        return Page(page.title, (*page.blocks, Paragraph(line)))

    def _vector_origin(self, text: Text) -> Iterator[Block]:
        """Where the vectors of the words come from, and what they cannot show."""
        if (seeded := self.seeded) is not None:
            argument, seed, model = seeded.argument, seeded.seed, seeded.model
            yield text.paragraph("seeded_vectors.origin", argument=argument, seed=seed, model=model)

    def text(self, lang: str = "en") -> str:
        """The page as plain lines."""
        from dhyan.insight.lesson_terminal_page import as_plain_text

        page = self.render(lang)
        return as_plain_text(page.title, page.blocks)

    def figure(self, *, lang: str = "en", dark: bool = False) -> "Figure":
        """The page as a figure; `dhyan.insight.heatmap.save` writes it."""
        from dhyan.insight.colors import DARK, LIGHT
        from dhyan.insight.lesson_figure import draw_figure

        page = self.render(lang)
        return draw_figure(page.blocks, title=page.title, theme=DARK if dark else LIGHT)

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.figure()._repr_svg_()


@dataclass(frozen=True)
class Machine:
    """The machine of a timing: processor, cores and compute threads."""

    processor: str
    cores: int
    threads: int

    def describe(self, text: Text) -> str:
        """The machine in words."""
        name = f" ({self.processor})" if self.processor else ""
        return text("provenance.machine", cores=self.cores, name=name, threads=self.threads)


def this_machine() -> Machine:
    """The machine this runs on."""
    from dhyan.run.environment import measurement_environment

    machine = measurement_environment("cpu")["machine"]
    return Machine(machine["processor"], machine["cores"] or 1, machine["threads"])


def parse_words(sentence: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a sentence, separated by spaces."""
    words = tuple(sentence.split()) if isinstance(sentence, str) else tuple(sentence)
    if not words:
        raise UserError("the sentence is empty: give it at least one word")
    return words


def parse_argument(text: str) -> object:
    """An argument of the command line: JSON, or else the string itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def parse_int(name: str, value: object, *, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"{name} is {value!r}: give a whole number of at least {least}")
    return value


def parse_ints(name: str, values: Sequence[int]) -> tuple[int, ...]:
    """At least one whole number, each 1 or more."""
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise UserError(f"{name}: give at least one whole number in a list, such as [3, 300]")
    return tuple(parse_int(name, value) for value in values)


def parse_learning_rate(value: object) -> float:
    """A learning rate above 0."""
    if not isinstance(value, int | float) or not value > 0:
        raise UserError(f"learning_rate is {value!r}: give a number above 0")
    return float(value)


def matches(value: object, hint: Any) -> bool:
    """Whether a value has a type; a type that cannot be checked matches anything."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(matches(value, part) for part in parts)
    if origin is Sequence:
        return _is_list(value, parts[0])
    if origin is Mapping:
        return isinstance(value, Mapping)
    if origin is not None:
        return callable(value)
    return _is_instance(value, hint)


def _is_instance(value: object, hint: Any) -> bool:
    """A bool is not a number, an int is also a float, and a path may be a string."""
    if isinstance(value, bool):
        return hint is bool
    wider = {float: (int, float), Path: (str, Path)}
    return not isinstance(hint, type) or isinstance(value, wider.get(hint, hint))


def _is_list(value: object, hint: Any) -> bool:
    if _holds_numbers(hint):
        return not isinstance(value, str | int | float | Mapping)
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and all(matches(element, hint) for element in value)  # type: ignore[attr-defined]


def describe(hint: Any) -> str:
    """A type in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        plain = [
            part for part in parts if part is not NoneType and (part, Path in parts) != (str, True)
        ]
        return " or ".join(dict.fromkeys(word for part in plain if (word := describe(part))))
    if origin is Sequence:
        if get_origin(parts[0]) is Sequence:
            return "rows, such as [[1, 0], [0, 1]]"
        paths = "paths" if Path in get_args(parts[0]) else "numbers"
        return f"a list of {ELEMENT_NAMES.get(parts[0], paths)}"
    if origin is Mapping:
        return 'names with values, such as {"a": 1}'
    if origin is not None:
        return "a function"
    return TYPE_NAMES.get(hint, "")


def _holds_numbers(hint: Any) -> bool:
    """Whether a list of these is checked by the lesson: numbers, or rows of numbers."""
    parts = get_args(hint)
    if get_origin(hint) is Sequence:
        return _holds_numbers(parts[0])
    return hint is float or any(_holds_numbers(part) for part in parts)


def _short_repr(value: object) -> str:
    quoted = repr(value)
    return quoted if len(quoted) <= LONGEST_REPR else f"{quoted[: LONGEST_REPR - 1]}…"
