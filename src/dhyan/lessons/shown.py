"""What a lesson returns: numbers by name, to be printed, drawn, and shown in a notebook."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Words
from dhyan.lessons.origin import Origin

if TYPE_CHECKING:
    from dhyan.insight.lesson_figure import Figure

LANGUAGES = ("en", "hi")
Say = Callable[[str, str], str]
"""Chooses between a text in English and the same in Hindi."""


@dataclass(frozen=True)
class Story:
    """A title, and the parts in the order in which they are read."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True)
class Shown(ABC):
    """A lesson's numbers, which tell their story in either language.

    `origin` says what they came from, where they were not computed here and now.
    """

    origin: Origin | None = None

    @abstractmethod
    def story(self, say: Say) -> Story:
        """What is shown, in the language that `say` chooses."""

    def told(self, lang: str = "en") -> Story:
        """The story in a language, and where it is from."""
        say = sayer(lang)
        story = self.story(say)
        if (of := self.origin) is None:
            return story
        kept = say(
            f"Kept from {of.date}, {of.machine}, at {of.commit}: `{of.command}`.",
            f"{of.date} को {of.machine} पर मापा और सहेजा गया, {of.commit}: `{of.command}`।",
        )
        return Story(story.title, (*story.parts, Words(kept)))

    def text(self, lang: str = "en") -> str:
        """The story as plain lines."""
        from dhyan.insight.plain_text import printed

        story = self.told(lang)
        return printed(story.title, story.parts)

    def figure(self, *, lang: str = "en", dark: bool = False) -> "Figure":
        """The story as a figure; `dhyan.insight.heatmap.save` writes it."""
        from dhyan.insight.lesson_figure import sheet
        from dhyan.insight.theme import DARK, LIGHT

        story = self.told(lang)
        return sheet(story.parts, title=story.title, theme=DARK if dark else LIGHT)

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.figure()._repr_svg_()


def sayer(lang: str) -> Say:
    """Chooses the English text, or the Hindi one."""
    if lang not in LANGUAGES:
        raise UserError(f"lessons are told in {' and '.join(LANGUAGES)}, not in {lang!r}")
    place = LANGUAGES.index(lang)
    return lambda *texts: texts[place]
