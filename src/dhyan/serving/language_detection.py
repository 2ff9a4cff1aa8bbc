"""Language detection by script and known words.

A server can tell apart only the languages of its models: a word counts for a language if it is
written in the language's script, and twice as much if the model's vocabulary has it as one token.
"""

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dhyan.text.languages import Script, script_of
from dhyan.text.normalize import normalize

MAX_CHARACTERS = 5000  # of a text that are read
UNKNOWN_WORD = 0.5  # evidence of a word in the right script that the vocabulary does not have


@dataclass(frozen=True)
class Detection:
    """A language that a text may be in, with a confidence from 0 to 100."""

    language: str
    confidence: float

    def as_json(self) -> dict[str, object]:
        """The object that LibreTranslate sends."""
        return {"confidence": self.confidence, "language": self.language}


def detect(text: str, vocabularies: Mapping[str, Sequence[Collection[str]]]) -> list[Detection]:
    """The languages of the vocabularies, the most likely first; equally likely ones in order.

    `vocabularies` has the case-folded words that each model knows of a language.
    """
    words = list(_words(text[:MAX_CHARACTERS]))
    detections = [
        Detection(language, _confidence(words, _script(language), known_words))
        for language, known_words in vocabularies.items()
    ]
    return sorted(detections, key=lambda detection: -detection.confidence)


def _confidence(
    words: list[str], script: Script | None, vocabularies: Sequence[Collection[str]]
) -> float:
    """The mean evidence of the words for a language, in percent."""
    evidence = 0.0
    for word in words:
        if script is None or script.letters.search(word):
            is_known = any(word in vocabulary for vocabulary in vocabularies)
            evidence += 1.0 if is_known else UNKNOWN_WORD
    return round(100 * evidence / len(words), 1) if words else 0.0


def _words(text: str) -> Iterator[str]:
    """Case-folded words without the digits and punctuation around them."""
    for token in normalize(text).casefold().split():
        positions = [at for at, character in enumerate(token) if _is_letter(character)]
        if positions:
            yield token[positions[0] : positions[-1] + 1]


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


@cache
def _script(language: str) -> Script | None:
    return script_of(language)
