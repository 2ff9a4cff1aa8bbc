"""What a lesson returns: numbers by name, to be printed, drawn, and shown in a notebook."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dhyan.insight.blocks import Block, Paragraph
from dhyan.lessons.catalogue import Text
from dhyan.lessons.provenance import Provenance

if TYPE_CHECKING:
    from dhyan.insight.lesson_figure import Figure


@dataclass(frozen=True)
class Page:
    """A title, and blocks (sentences, tables, curves) in reading order."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, kw_only=True)
class LessonResult(ABC):
    """A lesson's numbers, and the page that shows them in English or in Hindi.

    `provenance` is set where the numbers were read from a snapshot and not computed here and now.
    """

    provenance: Provenance | None = None

    @abstractmethod
    def page(self, text: Text) -> Page:
        """Title and blocks, with the texts of one language."""

    def render(self, lang: str = "en") -> Page:
        """The page in a language, with a last line about a snapshot's provenance."""
        text = Text(lang)
        page = self.page(text)
        if (source := self.provenance) is None:
            return page
        line = text(
            "provenance.kept",
            date=source.date,
            machine=source.machine,
            commit=source.commit,
            command=source.command,
        )
        return Page(page.title, (*page.blocks, Paragraph(line)))

    def text(self, lang: str = "en") -> str:
        """The page as plain lines."""
        from dhyan.insight.lesson_text import as_plain_text

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
