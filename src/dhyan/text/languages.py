"""Languages: ISO 639 codes, and the Unicode script each is written in."""

import re
from dataclasses import dataclass
from pathlib import Path

from dhyan.errors import UserError
from dhyan.text.compression import OPENERS

LANGUAGES = set(
    "af ar as az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id "
    "is it ja ka kk km kn ko ky lo lt lv mk ml mn mr ms my nb ne nl nn no or pa pl ps pt ro ru sa "
    "sd si sk sl sq sr sv sw ta te tg th tk tl tr uk ur uz vi xh yo zh zu".split()
)
LONG_CODES = {
    "ben": "bn", "deu": "de", "eng": "en", "fra": "fr", "hin": "hi", "jpn": "ja", "mar": "mr",
    "rus": "ru", "spa": "es", "tam": "ta", "tel": "te", "urd": "ur", "vie": "vi", "zho": "zh",
}  # fmt: skip
_LATIN = r"A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_CYRILLIC, _ARABIC = r"\u0400-\u052f", r"\u0600-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_SCRIPTS = {  # the letters of each, and the languages that are written in it alone
    "Latin": (_LATIN, "af ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it lt lv ms nb nl "
              "nn no pl pt ro sk sl sq sv sw tl tr vi xh yo zu"),
    "Devanagari": (r"\u0900-\u097f\ua8e0-\ua8ff", "hi mr ne sa"),
    "Bengali": (r"\u0980-\u09ff", "as bn"),
    "Gurmukhi": (r"\u0a00-\u0a7f", "pa"),
    "Gujarati": (r"\u0a80-\u0aff", "gu"),
    "Odia": (r"\u0b00-\u0b7f", "or"),
    "Tamil": (r"\u0b80-\u0bff", "ta"),
    "Telugu": (r"\u0c00-\u0c7f", "te"),
    "Kannada": (r"\u0c80-\u0cff", "kn"),
    "Malayalam": (r"\u0d00-\u0d7f", "ml"),
    "Sinhala": (r"\u0d80-\u0dff", "si"),
    "Thai": (r"\u0e00-\u0e7f", "th"),
    "Lao": (r"\u0e80-\u0eff", "lo"),
    "Burmese": (r"\u1000-\u109f", "my"),
    "Georgian": (r"\u10a0-\u10ff\u1c90-\u1cbf", "ka"),
    "Khmer": (r"\u1780-\u17ff", "km"),
    "Greek": (r"\u0370-\u03ff\u1f00-\u1fff", "el"),
    "Cyrillic": (_CYRILLIC, "be bg ky mk ru tg uk"),
    "Armenian": (r"\u0530-\u058f", "hy"),
    "Hebrew": (r"\u0590-\u05ff", "he"),
    "Arabic": (_ARABIC, "ar fa ps ur"),
    "Chinese": (_HAN, "zh"),
    "Japanese": (rf"\u3040-\u30ff{_HAN}", "ja"),
    "Korean": (r"\u1100-\u11ff\uac00-\ud7af", "ko"),
}  # fmt: skip
# Combining marks, which `re` does not count as letters.
_COMBINING = r"\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_COMBINING}])")


def language_of(file: str) -> str:
    """The language a file name ends in, as in `train.hi.xz`, or nothing."""
    suffixes = [suffix for suffix in Path(file).suffixes if suffix not in OPENERS]
    code = suffixes[-1][1:] if suffixes else ""
    code = LONG_CODES.get(code, code)
    return code if code in LANGUAGES else ""


def parse_language(text: str) -> str:
    """The language of a code (`hi`, `EN`, `zh-CN`, `hin`), or a UserError."""
    code = text.lower().partition("-")[0]
    code = LONG_CODES.get(code, code)
    if code and code not in LANGUAGES:
        raise UserError(
            f"language {text!r} is not known here: give a code such as 'hi', 'en' or 'de'"
        )
    return code


@dataclass(frozen=True)
class Script:
    """The letters that a language is written in."""

    name: str
    letters: re.Pattern[str]

    def is_missing(self, text: str) -> bool:
        """Whether a text has words, but no letter of this script."""
        return not self.letters.search(text) and bool(_WORD.search(text))


def script_of(language: str) -> Script | None:
    """The script of a language, if it is known and the language has only one."""
    for name, (letters, languages) in _SCRIPTS.items():
        if language in languages.split():
            return Script(name, re.compile(f"[{letters}]"))
    return None
