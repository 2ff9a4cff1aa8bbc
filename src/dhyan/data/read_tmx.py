"""Read sentence pairs from a translation memory (TMX 1.4): `tu`, `tuv` and `seg` elements.

The file is parsed as a stream. Memory is bounded whatever the file holds: text beyond the longest
sentence is skipped, and deep nesting, long tags and entity declarations are refused. The DTD that a
DOCTYPE names is never read.
"""

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from dhyan.data.filters import MAX_CHARACTERS
from dhyan.data.pairs import Side
from dhyan.data.read_report import ReadReport
from dhyan.data.text_lines import file_error, open_corpus_file, printable
from dhyan.errors import UserError, spell_option
from dhyan.text.languages import language_code

CHUNK_BYTES = 2**16
MAX_TAG_BYTES = 2**20  # of a tag, a comment or a declaration
MAX_DEPTH = 100  # of elements inside each other
MAX_LANGUAGES = 50  # that are remembered
MARKUP = {"bpt", "ept", "it", "ph", "ut"}  # inline elements that hold codes of another format

Row = tuple[int, str, str]  # line number, source, target


def read_tmx(path: Path, columns: tuple[str, str] | None, report: ReadReport) -> Iterator[Row]:
    """Source and target of each translation unit, with the line it begins on.

    `columns` names two languages; without it, the file must have exactly two, and the header's
    `srclang` is the source. `en` stands for `en-US` too, unless both languages are English.
    """
    units, parser = _Units(path), expat.ParserCreate()
    units.attach(parser)
    languages = _LanguagePair(*columns) if columns else None
    fed = 0
    with open_corpus_file(path, lambda: parser.CurrentLineNumber - 1) as file:
        while True:
            chunk = file.read(CHUNK_BYTES)
            if not chunk and not fed:
                raise file_error(path, 0, "is empty; give a translation memory")
            _parse(parser, chunk, path)
            fed += len(chunk)
            if chunk and fed - parser.CurrentByteIndex > MAX_TAG_BYTES:
                reason = f"a tag or a comment of more than {MAX_TAG_BYTES:,} bytes; remove it"
                raise file_error(path, parser.CurrentLineNumber, reason)
            for line, segments in units.take():
                if languages is None:
                    languages = _only_languages(path, line, segments, units.source_language)
                report.columns = languages.names
                if not columns and (other := languages.other(segments)):
                    report.add_error(_third_language(path, line, other, languages))
                    continue
                texts = languages.select(segments)
                if None in texts:
                    side: Side = "source" if texts[0] is None else "target"
                    name = languages.names[texts.index(None)]
                    report.drop(f"no segment in {printable(name)}", side, line)
                else:
                    yield line, texts[0] or "", texts[1] or ""
            if not chunk:
                break
    if columns and units.languages:
        names = printable(", ".join(units.languages))[:300]
        report.notes.append(f"languages of the file: {names}")


def _parse(parser: Any, chunk: bytes, path: Path) -> None:
    try:
        parser.Parse(chunk, not chunk)
    except expat.ExpatError as error:
        reason = f"not well-formed XML ({expat.ErrorString(error.code)})"
        remedy = "export the translation memory again as TMX"
        raise file_error(path, error.lineno, f"{reason}; {remedy}") from None
    except (ValueError, LookupError) as error:  # an encoding that the parser cannot read
        reason = f"its XML encoding cannot be read ({printable(error)})"
        raise file_error(path, 1, f"{reason}; save it as UTF-8") from None


class _LanguagePair:
    """Finds the segments of two languages in a unit, by their tags."""

    def __init__(self, source: str, target: str) -> None:
        self.names = source, target
        same = _base(source) == _base(target)  # only then regions tell the languages apart
        self._key = _folded if same else _base

    def select(self, segments: dict[str, str]) -> list[str | None]:
        """The text of the source and of the target, the first of each language; None if missing."""
        by_key: dict[str, str] = {}
        for tag, text in segments.items():
            by_key.setdefault(self._key(tag), text)
        return [by_key.get(self._key(name)) for name in self.names]

    def other(self, segments: dict[str, str]) -> str:
        """The first language that is neither of the two, or nothing."""
        known = {self._key(name) for name in self.names}
        return next((tag for tag in segments if self._key(tag) not in known), "")


def _folded(tag: str) -> str:
    return tag.casefold().replace("_", "-")


def _base(tag: str) -> str:
    """The language of a tag without its region: `en` of `EN-us`."""
    return language_code(tag) or _folded(tag).partition("-")[0]


def _only_languages(
    path: Path, line: int, segments: dict[str, str], source_language: str
) -> _LanguagePair:
    """The languages of a file, by its first unit."""
    tags = list(segments)
    if len(tags) != 2:
        reason = f"{len(tags)} languages ({printable(', '.join(tags))[:300]})"
        raise file_error(
            path, line, f"{reason}; name two, as {spell_option('columns', ('en', 'vi'))}"
        )
    if _base(source_language) == _base(tags[1]) != _base(tags[0]):
        tags.reverse()
    return _LanguagePair(tags[0], tags[1])


def _third_language(path: Path, line: int, tag: str, languages: _LanguagePair) -> UserError:
    reason = f"a third language, {printable(tag)[:60]}, beside {' and '.join(languages.names)}"
    remedy = f"name two with {spell_option('columns', tuple(languages.names))}"
    return file_error(path, line, printable(f"{reason}; {remedy}"))


class _Units:
    """Handlers of the parser's events, which collect the units of a chunk."""

    def __init__(self, path: Path) -> None:
        self.languages: dict[str, None] = {}
        self.source_language = ""
        self._path = path
        self._parser: Any = None
        self._units: list[tuple[int, dict[str, str]]] = []
        self._open: list[str] = []
        self._segments: dict[str, str] = {}
        self._line, self._language = 0, ""
        self._text: list[str] | None = None  # of the segment that is open
        self._length = self._markup = 0

    def attach(self, parser: Any) -> None:
        """Become the handlers of a parser."""
        self._parser = parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity_declaration
        parser.SkippedEntityHandler = self._skipped_entity

    def take(self) -> Iterator[tuple[int, dict[str, str]]]:
        """The units that ended since the last call: line, and text by language."""
        units, self._units = self._units, []
        return iter(units)

    def _error(self, reason: str) -> UserError:
        return file_error(self._path, self._parser.CurrentLineNumber, reason)

    def _doctype(self, name: str, system: str, public: str, has_declarations: bool) -> None:
        """Refuse declarations inside the DOCTYPE, which could expand without limit."""
        if has_declarations:
            raise self._error("holds declarations in its DOCTYPE; remove the DOCTYPE from the file")

    def _entity_declaration(self, name: str, *_: object) -> None:
        raise self._error(f"declares the entity {printable(name)[:60]}; remove its declaration")

    def _skipped_entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter:
            self._characters(html.unescape(f"&{name};"))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._open and name != "tmx":
            raise self._error(
                f"XML, but no TMX: it begins with <{printable(name)[:60]}>; give a TMX"
            )
        self._open.append(name)
        if len(self._open) > MAX_DEPTH:
            raise self._error(f"elements nested more than {MAX_DEPTH} deep; give a TMX")
        if name == "header":
            self.source_language = attributes.get("srclang", "")
        elif name == "tu":
            self._line, self._segments = self._parser.CurrentLineNumber, {}
        elif name == "tuv":
            self._language = attributes.get("xml:lang") or attributes.get("lang") or ""
            if len(self.languages) < MAX_LANGUAGES:
                self.languages.setdefault(self._language)
        elif name == "seg":
            self._text, self._length, self._markup = [], 0, 0
        elif self._text is not None and name in MARKUP:
            self._markup += 1

    def _end(self, name: str) -> None:
        self._open.pop()
        if name == "seg" and self._text is not None:
            text = "".join(self._text).replace("\n", " ").strip()
            if len(self._segments) < MAX_LANGUAGES:
                self._segments.setdefault(self._language, text)
            self._text = None
        elif name == "tu":
            self._units.append((self._line, self._segments))
            self._segments = {}
        elif self._text is not None and name in MARKUP:
            self._markup -= 1

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._markup and self._length <= MAX_CHARACTERS:
            text = text[: MAX_CHARACTERS + 1 - self._length]
            self._length += len(text)
            self._text.append(text)
