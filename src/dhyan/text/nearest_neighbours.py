"""Nearest neighbours of word vectors by cosine similarity, and analogies."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from dhyan.errors import UserError
from dhyan.text.bag_of_words import unknown_word_error
from dhyan.text.word_vectors import WordVectors


class Neighbour(NamedTuple):
    """A word, and the cosine of its vector with the query."""

    word: str
    cosine: float


def unit_vector(vectors: WordVectors, word: str) -> Float32[np.ndarray, " D"]:
    """The vector of a word, normalised to length one."""
    return mean_direction(vectors, (word,))


def mean_direction(vectors: WordVectors, words: Sequence[str]) -> Float32[np.ndarray, " D"]:
    """The mean direction of words: the mean of their unit vectors, normalised to length one."""
    if not words:
        raise UserError("no word to take the mean of: give at least one")
    return _unit(_unit(vectors.table[[_index(vectors, word) for word in words]]).mean(0))


def cosine(vectors: WordVectors, first: str, second: str) -> float:
    """Cosine similarity of two words, from −1 to 1."""
    return float(unit_vector(vectors, first) @ unit_vector(vectors, second))


def neighbours(
    vectors: WordVectors, word: str, *, count: int = 5, among: Collection[str] | None = None
) -> tuple[Neighbour, ...]:
    """The words whose vectors have the largest cosines with a word's, without the word itself."""
    return nearest(vectors, unit_vector(vectors, word), count=count, among=among, without=(word,))


def analogy(
    vectors: WordVectors, a: str, b: str, c: str, *, count: int = 5
) -> tuple[Neighbour, ...]:
    """The words nearest to a − b + c: king − man + woman (Mikolov et al., 2013), without these."""
    direction = unit_vector(vectors, a) - unit_vector(vectors, b) + unit_vector(vectors, c)
    return nearest(vectors, direction, count=count, without=(a, b, c))


def nearest(
    vectors: WordVectors,
    direction: Float32[np.ndarray, " D"],
    *,
    count: int = 5,
    among: Collection[str] | None = None,
    without: Collection[str] = (),
) -> tuple[Neighbour, ...]:
    """The words nearest to a direction, nearest first; equally near ones in the vectors' order."""
    if not isinstance(count, int) or count < 1:
        raise UserError(f"count is {count!r}; give a whole number from 1 on")
    cosines = _unit(vectors.table) @ _unit(direction)
    order = np.argsort(-cosines, kind="stable")
    candidates = (index for index in order if vectors.words[index] not in without)
    allowed = (index for index in candidates if among is None or vectors.words[index] in among)
    return tuple(
        Neighbour(vectors.words[index], float(cosines[index]))
        for _, index in zip(range(count), allowed, strict=False)
    )


def _index(vectors: WordVectors, word: str) -> int:
    if word not in vectors.words:
        raise unknown_word_error(word, vectors.words)
    return vectors.words.index(word)


def _unit(rows: Float32[np.ndarray, "*N D"]) -> Float32[np.ndarray, "*N D"]:
    """Rows normalised to length one; a row of zeros stays as it is."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(length > 0, length, 1)
