"""Unicode scripts of languages: lines in the wrong script, and sides that seem to be swapped."""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from dhyan.config import Data
from dhyan.data.pairs import Pair, Side
from dhyan.data.read_text import printable
from dhyan.text.languages import language_of, parse_language

logger = logging.getLogger(__name__)

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
# Combining marks, which `re` does not count as letters.
# Combining marks, which `re` does not count as letters.
_COMBINING = r"\u0300-\u036f\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_COMBINING}])")
SWAPPED_SHARE = 0.5  # of the pairs, with each side in the script of the other
SAMPLE_PAIRS = 1000  # pairs at the start of a corpus that are checked before training
WARNING_SHARE = 0.5  # of the sample, in another script than the language's


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


@dataclass
class ScriptCheck:
    """Checks whether each side is in the script of its language; an unknown one is not checked."""

    source: Script | None
    target: Script | None
    pairs: int = 0
    swapped_pairs: int = 0

    @classmethod
    def of(cls, languages: Sequence[str]) -> "ScriptCheck":
        """The check for the languages of source and target."""
        source, target = map(script_of, languages)
        return cls(source, target)

    def wrong_sides(self, pair: Pair) -> list[Side]:
        """The sides of a pair that have no letter of their language's script."""
        sides: dict[Side, tuple[Script | None, str]] = {
            "source": (self.source, pair.source),
            "target": (self.target, pair.target),
        }
        wrong = [
            side for side, (script, text) in sides.items() if script and script.is_missing(text)
        ]
        self.pairs += 1
        self.swapped_pairs += len(wrong) == len(sides)
        return wrong

    @property
    def swapped(self) -> bool:
        """Whether source and target seem to be swapped."""
        return self.source != self.target and self.swapped_pairs > SWAPPED_SHARE * self.pairs


def warn_about_scripts(data: Data, pairs: Iterable[Pair]) -> None:
    """Log a warning if most of a side is in another script than its language's."""
    languages = (
        parse_language(data.source_language) or language_of(data.source),
        parse_language(data.target_language) or language_of(data.target),
    )
    check, counts = ScriptCheck.of(languages), Counter[Side]()
    for pair in islice(pairs, SAMPLE_PAIRS):
        counts.update(check.wrong_sides(pair))
    for side, count in counts.items():
        script = check.source if side == "source" else check.target
        if script and count > WARNING_SHARE * check.pairs:
            file = printable(data.source if side == "source" else data.target or data.source)
            reason = f"{count:,} of the first {check.pairs:,} {side}s have no {script.name} letter"
            hint = "; are source and target swapped?" if check.swapped else ""
            logger.warning(f"{file}: {reason}{hint}")
