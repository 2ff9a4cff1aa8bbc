"""Grapheme clusters: what a reader takes for one character, such as a conjunct with its vowel sign."""

import unicodedata
from collections.abc import Iterator

VIRAMA = 9  # its canonical combining class, in every script of India
ZWNJ, ZWJ = "\u200c", "\u200d"


def grapheme_clusters(text: str) -> Iterator[str]:
    """The clusters of a text, in order: a conjunct such as क्षि is one, and is never split."""
    cluster = ""
    for character in text:
        joined = cluster.endswith(ZWJ) or unicodedata.combining(cluster[-1:] or " ") == VIRAMA
        marks = unicodedata.category(character)[0] == "M" or character in (ZWNJ, ZWJ)
        if cluster and not marks and not (joined and character.isalpha()):
            yield cluster
            cluster = ""
        cluster += character
    if cluster:
        yield cluster
