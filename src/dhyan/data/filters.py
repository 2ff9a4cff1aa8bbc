"""Filters of sentence pairs: length, duplicates, invisible characters, HTML entities."""

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

from dhyan.data.pairs import Side
from dhyan.safe_io.data_uri import MAX_URI_CHARACTERS, is_data_uri
from dhyan.text.normalize import normalize

MAX_CHARACTERS = 10_000  # of one side
MAX_REPEATS = 10_000  # after so many repeats in a row a stream is taken to hold nothing new

Item = TypeVar("Item")


class _PunctuationToSpace(dict[int, str]):
    """For str.translate: letters, digits, marks and joiners stay, all else becomes a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        in_word = unicodedata.category(character)[0] in "LNM" or character in "\u200c\u200d"
        return self.setdefault(code, character if in_word else " ")


_PUNCTUATION_TO_SPACE = _PunctuationToSpace()


def split_words(text: str) -> list[str]:
    """The words of a text without punctuation; a vowel sign or a joiner never ends a word."""
    return text.translate(_PUNCTUATION_TO_SPACE).split()


@dataclass(frozen=True)
class LengthFilter:
    """Bounds on the number of words of both sides, counted as in `dhyan data check`; 0 is no bound.

    `max_length_ratio` is how many times as many words the longer side may have.
    """

    min_words: int = 0
    max_words: int = 0
    max_length_ratio: float = 0.0

    def rejection(self, source: str, target: str) -> tuple[str, Side] | None:
        """The reason to drop a pair and the side that causes it, or None to keep the pair."""
        sides: dict[Side, str] = {"source": source, "target": target}
        for side, text in sides.items():
            if not text or text.isspace():
                return f"empty {side}", side
            limit = MAX_URI_CHARACTERS if is_data_uri(text) else MAX_CHARACTERS
            if len(text) > limit:
                return f"{side} of more than {limit:,} characters", side
        if not (self.min_words or self.max_words or self.max_length_ratio):
            return None
        return self._word_count_rejection(
            len(split_words(normalize(source))), len(split_words(normalize(target)))
        )

    def _word_count_rejection(self, source: int, target: int) -> tuple[str, Side] | None:
        counts: dict[Side, int] = {"source": source, "target": target}
        for side, count in counts.items():
            if count < self.min_words:
                return f"fewer than {self.min_words:,} words in the {side}", side
            if self.max_words and count > self.max_words:
                return f"more than {self.max_words:,} words in the {side}", side
        ratio = self.max_length_ratio
        if ratio and max(source, target) > ratio * min(source, target):
            longer: Side = "source" if source > target else "target"
            return f"{longer} over {ratio:g} times as many words", longer
        return None


def distinct(items: Iterable[Item], key: Callable[[Item], str], count: int) -> Iterator[Item]:
    """The first `count` items with different keys; fewer if nothing new comes for a long while."""
    keys, repeats = set[str](), 0
    for item in items:
        if len(keys) == count or repeats == MAX_REPEATS:
            return
        name = key(item)
        repeats = repeats + 1 if name in keys else 0
        if name not in keys:
            keys.add(name)
            yield item


_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def has_entity(text: str) -> bool:
    """Whether a text has an HTML entity that `unescape_entities` replaces."""
    return "&" in text and unescape_entities(text) != text


def unescape_entities(text: str) -> str:
    """The text with the characters of its HTML entities (`&amp;`, `&#39;`, `&quot;`), once.

    Only entities that end in a semicolon and that HTML has are replaced, so a URL such as
    `?a=1&copy=2` stays. A newline among them becomes a space.
    """
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]).replace("\n", " "), text)


class Deduplicator:
    """Tells pairs that came before: equal in dhyan's normal form, compared by 64-bit hashes."""

    def __init__(self) -> None:
        self._hashes: set[bytes] = set()

    def is_duplicate(self, source: str, target: str) -> bool:
        """Whether the pair came before; it is remembered."""
        text = f"{normalize(source)}\0{normalize(target)}"
        digest = blake2b(text.encode(), digest_size=8).digest()
        count = len(self._hashes)
        self._hashes.add(digest)
        return len(self._hashes) == count


INVISIBLE_CHARACTERS = {
    "bidi overrides and isolates": re.compile(r"[\u202a-\u202e\u2066-\u2069]"),
    "tag characters": re.compile(r"[\U000e0000-\U000e007f]"),
    "other invisible characters": re.compile(
        r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f"
        r"\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb]"
    ),
}
_ANY_INVISIBLE = re.compile("|".join(c.pattern for c in INVISIBLE_CHARACTERS.values()))


def invisible_classes(text: str) -> Iterator[str]:
    """The classes of invisible characters in a text, all removed by `normalize`.

    The zero-width joiners spell words, and are not among them.
    """
    if _ANY_INVISIBLE.search(text):
        for name, pattern in INVISIBLE_CHARACTERS.items():
            if pattern.search(text):
                yield name
