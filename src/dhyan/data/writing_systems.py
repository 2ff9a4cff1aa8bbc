"""Which letters a language is written in, and lines that have none of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dhyan.data.pairs import Pair, Side

_LATIN = r"A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_CYRILLIC, _ARABIC = r"\u0400-\u052f", r"\u0600-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTERS = {  # of each script, and the languages that are written in it alone
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
_SIGNS = r"\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # no letters to `re`
_SOME = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_SIGNS}])")
SWAPPED = 0.5  # the share of pairs whose sides are each in the other's script


@dataclass(frozen=True)
class Script:
    """The letters of a language."""

    name: str
    letters: re.Pattern[str]

    def strange(self, text: str) -> bool:
        """Whether a text has words, and not a letter of this script."""
        return not self.letters.search(text) and bool(_SOME.search(text))


def script_of(language: str) -> Script | None:
    """What a language is written in, if it is known and written in one script only."""
    for name, (letters, languages) in _LETTERS.items():
        if language in languages.split():
            return Script(name, re.compile(f"[{letters}]"))
    return None


@dataclass
class Scripts:
    """Looks whether each side is written as its language is; of one that is unknown, nothing."""

    source: Script | None
    target: Script | None
    pairs: int = 0
    swapped: int = 0

    @classmethod
    def of(cls, languages: Sequence[str]) -> "Scripts":
        """Those of the languages of both sides."""
        source, target = map(script_of, languages)
        return cls(source, target)

    def strange(self, pair: Pair) -> list[Side]:
        """The sides of a pair that are in other letters than their language."""
        own: dict[Side, tuple[Script | None, str]] = {
            "source": (self.source, pair.source),
            "target": (self.target, pair.target),
        }
        found = [side for side, (script, text) in own.items() if script and script.strange(text)]
        self.pairs += 1
        self.swapped += len(found) == len(own)
        return found

    @property
    def crossed(self) -> bool:
        """Whether source and target seem to have changed places."""
        return self.source != self.target and self.swapped > SWAPPED * self.pairs
