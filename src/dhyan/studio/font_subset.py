"""A font with the letters of a text and no others, small enough to travel inside a picture."""

from functools import lru_cache
from io import BytesIO
from typing import Literal

from dhyan.errors import UserError

Format = Literal["ttf", "woff"]


def subset(text: str, form: Format = "ttf") -> bytes:
    """The Devanagari font for a text: its conjuncts, signs and weights, nothing else.

    Latin letters are left to the reader's own fonts, as on the page.
    """
    return _made("".join(sorted({letter for letter in text if not letter.isascii()})), form)


@lru_cache(maxsize=32)
def _made(letters: str, form: Format) -> bytes:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont
    from fontTools.varLib.instancer import instantiateVariableFont

    from dhyan.insight.fonts import devanagari_file

    found = devanagari_file()
    if found is None:
        raise UserError("no font for Devanagari is here: pip install fontpkg-noto-sans-devanagari")
    font = TTFont(found, lazy=False)
    cut = Subsetter(Options(layout_features=["*"], hinting=False))
    cut.populate(text=letters)
    cut.subset(font)
    instantiateVariableFont(font, {"wdth": 100}, inplace=True)
    font.flavor = None if form == "ttf" else form
    written = BytesIO()
    font.save(written)
    return written.getvalue()
