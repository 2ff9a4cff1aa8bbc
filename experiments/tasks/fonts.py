"""Devanagari fonts of Debian that lines are drawn in; the tests have families of their own.

Install them with `apt-get install fonts-deva-extra fonts-noto-core fonts-noto-extra fonts-lohit-deva
fonts-lohit-deva-marathi fonts-lohit-deva-nepali fonts-samyak-deva fonts-gargi fonts-nakula
fonts-sahadeva fonts-sarai fonts-freefont-ttf fonts-aksharyogini2 fonts-sil-annapurna`. They only make
data.
"""

from pathlib import Path

from dhyan.errors import UserError

FOLDER = Path("/usr/share/fonts/truetype")
TRAINING = (
    "noto/NotoSansDevanagari-Regular.ttf",
    "noto/NotoSansDevanagari-Bold.ttf",
    "noto/NotoSansDevanagari-Light.ttf",
    "noto/NotoSansDevanagari-Black.ttf",
    "noto/NotoSansDevanagari-ExtraCondensed.ttf",
    "annapurna/AnnapurnaSIL-Regular.ttf",
    "annapurna/AnnapurnaSIL-Bold.ttf",
    "lohit-devanagari/Lohit-Devanagari.ttf",
    "lohit-marathi/Lohit-Marathi.ttf",
    "lohit-nepali/Lohit-Nepali.ttf",
    "samyak/Samyak-Devanagari.ttf",
    "Sahadeva/sahadeva.ttf",
    "Sarai/Sarai.ttf",
    "freefont/FreeSans.ttf",
    "freefont/FreeSerif.ttf",
    "freefont/FreeSansBold.ttf",
    "fonts-deva-extra/samanata.ttf",
    "fonts-deva-extra/kalimati.ttf",
)
VALIDATION = ("Gargi/Gargi.ttf", "fonts-aksharyogini2/Aksharyogini2Normal.ttf")
HELD_OUT = (
    "noto/NotoSerifDevanagari-Regular.ttf",
    "noto/NotoSerifDevanagari-Bold.ttf",
    "Nakula/nakula.ttf",
    "fonts-deva-extra/chandas1-2.ttf",
)


def find_fonts(names: tuple[str, ...], folder: Path = FOLDER) -> list[Path]:
    """The files of these fonts; all of them must be installed."""
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise UserError(f"{folder}: no {', '.join(missing)}; install the packages of fonts.py")
    return [folder / name for name in names]
