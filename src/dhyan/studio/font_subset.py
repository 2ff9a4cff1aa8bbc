"""Font subsetting: the Devanagari font with only the characters of a text."""

from functools import lru_cache
from io import BytesIO
from typing import Literal

from dhyan.errors import UserError

Format = Literal["ttf", "woff"]


def subset_font(text: str, file_format: Format = "ttf") -> bytes:
    """The font with the characters of a text, their conjuncts and all weights.

    Latin characters are left to the reader's own fonts, as on the page.
    """
    return _subset("".join(sorted({char for char in text if not char.isascii()})), file_format)


@lru_cache(maxsize=32)
def _subset(characters: str, file_format: Format) -> bytes:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont
    from fontTools.varLib.instancer import instantiateVariableFont

    from dhyan.insight.fonts import devanagari_file

    path = devanagari_file()
    if path is None:
        raise UserError("there is no Devanagari font: pip install fontpkg-noto-sans-devanagari")
    font = TTFont(path, lazy=False)
    subsetter = Subsetter(Options(layout_features=["*"], hinting=False))
    subsetter.populate(text=characters)
    subsetter.subset(font)
    instantiateVariableFont(font, {"wdth": 100}, inplace=True)
    font.flavor = None if file_format == "ttf" else file_format
    written = BytesIO()
    font.save(written)
    return written.getvalue()
