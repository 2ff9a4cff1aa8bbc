"""Write a translation memory (TMX 1.4): a unit for each source with its translation."""

import re
from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from dhyan.errors import UserError
from dhyan.version import __version__

TMX = ".tmx"
DOCTYPE = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class TMXWriter:
    """The parts of a file in two languages, to be written one after the other."""

    def __init__(self, source_language: str, target_language: str, *, paragraphs: bool) -> None:
        if not (source_language and target_language) or source_language == target_language:
            raise UserError(
                f"a .tmx names two languages, and the model's are {source_language or 'unknown'} and "
                f"{target_language or 'unknown'}; write another file, or name them in its recipe: "
                "data.source_language and data.target_language"
            )
        self.languages = source_language, target_language
        self.segments = "paragraph" if paragraphs else "sentence"

    def start(self) -> str:
        """All before the first unit."""
        header = {
            "creationtool": "dhyan",
            "creationtoolversion": __version__,
            "segtype": self.segments,
            "o-tmf": "plain text",
            "adminlang": "en",
            "srclang": self.languages[0],
            "datatype": "plaintext",
        }
        attributes = " ".join(f"{name}={quoteattr(value)}" for name, value in header.items())
        return f'{DOCTYPE}<tmx version="1.4">\n<header {attributes}/>\n<body>\n'

    def unit(self, source: str, target: str) -> str:
        """A source and its translation; nothing, if one is blank."""
        texts = source.strip(), target.strip()
        if not all(texts):
            return ""
        variants = "".join(
            f'<tuv xml:lang="{language}"><seg>{_text(text)}</seg></tuv>'
            for language, text in zip(self.languages, texts, strict=True)
        )
        return f"<tu>{variants}</tu>"

    def end(self) -> str:
        """All after the last unit."""
        return "</body>\n</tmx>\n"

    def file(self, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
        """A whole file, line by line."""
        yield self.start()
        yield from (f"{unit}\n" for unit in (self.unit(*pair) for pair in pairs) if unit)
        yield self.end()


def _text(text: str) -> str:
    """A text as the content of an element; what XML cannot hold becomes U+FFFD."""
    return escape(NOT_XML.sub("\ufffd", text))
