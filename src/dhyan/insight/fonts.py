"""Fonts for labels: families per script, text measures, missing glyphs, shortening."""

import re
import threading
import unicodedata
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dhyan.errors import UserError
from dhyan.text.grapheme_clusters import grapheme_clusters

EVERYDAY = "DejaVu Sans"  # ships with matplotlib
STAND_IN = "□"

_DEVANAGARI = re.compile("[\u0900-\u097f\ua8e0-\ua8ff]")

# matplotlib's settings belong to the whole process, so one figure is drawn at a time.
_drawing = threading.Lock()


@contextmanager
def settings() -> Iterator[None]:
    """Matplotlib's defaults, whatever the user has set, with fonts embedded as outlines."""
    import matplotlib

    with _drawing, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rc("text", hinting="no_hinting")
        matplotlib.rc("svg", fonttype="path", hashsalt="dhyan")
        matplotlib.rc("pdf", fonttype=42)
        yield


def families(text: str) -> list[str]:
    """The font families to draw a text with, best first.

    Noto Sans Devanagari comes first because it has Latin letters and digits of its own, drawn to
    sit beside the Hindi ones; DejaVu Sans fills in Greek, Cyrillic, symbols and the like.
    """
    noto = _register_devanagari()
    if noto is None and _DEVANAGARI.search(text):
        raise UserError("no Devanagari font is installed: pip install fontpkg-noto-sans-devanagari")
    return [EVERYDAY] if noto is None else [noto, EVERYDAY]


def devanagari_file() -> Path | None:
    """The file of the Devanagari font; None if the package that holds it is missing."""
    try:
        import fontpkg_noto_sans_devanagari as package
    except ImportError:
        return None
    return next(Path(package.ROOT).rglob("*.ttf"))


def _register_devanagari() -> str | None:
    """Register the Devanagari font with matplotlib, if it is installed; its family.

    A font of the system with the same name steps back: those have no Latin letters.
    """
    file = devanagari_file()
    if file is None:
        return None
    import fontpkg_noto_sans_devanagari as package
    from matplotlib.font_manager import fontManager

    path = str(file)
    if all(font.fname != path for font in fontManager.ttflist):
        fontManager.addfont(path)
    others = [
        font for font in fontManager.ttflist if font.name == package.FAMILY and font.fname != path
    ]
    for font in others:
        fontManager.ttflist.remove(font)
    return str(package.FAMILY)


@dataclass(frozen=True)
class Font:
    """Font families, best first, and a size in points."""

    families: list[str]
    size: float

    @property
    def middle(self) -> float:
        """The offset of the baseline that centres a line of text vertically."""
        return 0.34 * self.size

    def style(self, colour: str, *, ha: str = "left", rotation: int = 0) -> dict[str, Any]:
        """Matplotlib options of a text on its baseline; a dollar sign starts no formula."""
        line = {"va": "baseline", "ha": ha, "rotation": rotation, "rotation_mode": "anchor"}
        face = {"family": self.families, "size": self.size, "color": colour}
        return {**face, **line, "parse_math": False}

    def measure(self, text: str) -> float:
        """The width of a text in points."""
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        face = FontProperties(family=self.families, size=self.size)
        return float(text_to_path.get_text_width_height_descent(text, face, ismath=False)[0])

    def widest(self, texts: Sequence[str]) -> float:
        """The width of the widest text."""
        return max(map(self.measure, texts))

    def wrap(self, text: str, width: int | float) -> list[str]:
        """The text in lines of at most a width, broken at spaces only."""
        lines: list[str] = []
        for word in text.split():
            longer = f"{lines[-1]} {word}" if lines else word
            lines[-1:] = [longer] if self.measure(longer) <= width else [*lines[-1:], word]
        return lines


def drawable(labels: Iterable[str], fonts: Iterable[str]) -> list[str]:
    """The labels, with □ for each character that no font has, and one warning that names them."""
    from matplotlib.font_manager import findfont, get_font

    charmap = set[int]().union(*(get_font(findfont(font)).get_charmap() for font in fonts))
    missing: dict[str, None] = {}

    def replace(character: str) -> str:
        category = unicodedata.category(character)
        if character.isspace():
            return " "
        if ord(character) in charmap and category != "Cc":
            return character
        if category in {"Cc", "Cf", "Cs"}:
            return ""
        missing[character] = None
        return "" if category.startswith("M") else STAND_IN

    cleaned = ["".join(map(replace, label)) for label in labels]
    if missing:
        warnings.warn(
            f"no font here has {_named(missing)}: {STAND_IN} stands for each character",
            stacklevel=3,
        )
    return cleaned


def _named(characters: Iterable[str]) -> str:
    """Characters by script: `Tamil (த ம), CJK (中)`."""
    scripts: dict[str, list[str]] = {}
    for character in characters:
        word = unicodedata.name(character, "").partition(" ")[0]
        script = word if word == "CJK" else word.capitalize()
        named = character.isalpha() or unicodedata.category(character)[0] == "M"
        scripts.setdefault(script if named and script else "symbols", []).append(character)
    return ", ".join(f"{script} ({' '.join(characters)})" for script, characters in scripts.items())


def shorten(text: str, limit: int | float, measure: Callable[[str], int | float]) -> str:
    """The text if it measures no more than the limit, otherwise its beginning and an ellipsis."""
    if measure(text) <= limit:
        return text
    graphemes = list(grapheme_clusters(text))

    def cut(count: int) -> str:
        return "".join(graphemes[:count]) + "…"

    beyond = bisect_right(range(len(graphemes)), limit, key=lambda count: measure(cut(count)))
    return cut(max(beyond - 1, 0))
