"""What counts as a word, and how many of them the two sides of a pair may have."""

import unicodedata
from dataclasses import dataclass

from dhyan.data.pairs import Side
from dhyan.text.normalize import normalize

LONGEST_LINE = 10_000  # characters a side may have


class _Spaces(dict[int, str]):
    """For str.translate: letters, digits, marks and joiners stay, all else becomes a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        inside = unicodedata.category(character)[0] in "LNM" or character in "\u200c\u200d"
        return self.setdefault(code, character if inside else " ")


_SPACES = _Spaces()


@dataclass(frozen=True)
class Bounds:
    """Bounds in words, counted as `dhyan data check` counts them; 0 is none.

    `most_ratio` is how many times as many words the longer side may have.
    """

    fewest_words: int = 0
    most_words: int = 0
    most_ratio: float = 0.0

    def unfit(self, one: str, other: str) -> tuple[str, Side] | None:
        """Why a pair cannot be used, and because of which side."""
        sides: dict[Side, str] = {"source": one, "target": other}
        for side, text in sides.items():
            if not text or text.isspace():
                return f"empty {side}", side
            if len(text) > LONGEST_LINE:
                return f"{side} of more than {LONGEST_LINE:,} characters", side
        if not (self.fewest_words or self.most_words or self.most_ratio):
            return None
        return self._miscounted(len(words(normalize(one))), len(words(normalize(other))))

    def _miscounted(self, source: int, target: int) -> tuple[str, Side] | None:
        counts: dict[Side, int] = {"source": source, "target": target}
        for side, count in counts.items():
            if count < self.fewest_words:
                return f"fewer than {self.fewest_words:,} words in the {side}", side
            if self.most_words and count > self.most_words:
                return f"more than {self.most_words:,} words in the {side}", side
        if self.most_ratio and max(source, target) > self.most_ratio * min(source, target):
            longer: Side = "source" if source > target else "target"
            return f"{longer} over {self.most_ratio:g} times as many words", longer
        return None


def words(text: str) -> list[str]:
    """The words of a text without its punctuation; a vowel sign or a joiner never ends one."""
    return text.translate(_SPACES).split()
