"""What lies near a word among vectors: cosines, neighbours, and analogies."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from dhyan.errors import UserError
from dhyan.text.bag_of_words import unknown
from dhyan.text.word_vectors import Vectors


class Near(NamedTuple):
    """A word, and the cosine of its vector with what was asked for."""

    word: str
    cosine: float


def vector_of(vectors: Vectors, word: str) -> Float32[np.ndarray, " D"]:
    """A word's vector, made of length one."""
    return mean_of(vectors, (word,))


def mean_of(vectors: Vectors, words: Sequence[str]) -> Float32[np.ndarray, " D"]:
    """The direction in which words lie together: the mean of their directions, of length one."""
    if not words:
        raise UserError("there is no word to take the mean of: give at least one")
    return _unit(_unit(vectors.table[[_place(vectors, word) for word in words]]).mean(0))


def cosine(vectors: Vectors, one: str, other: str) -> float:
    """How alike two words' directions are, from −1 to 1."""
    return float(vector_of(vectors, one) @ vector_of(vectors, other))


def neighbours(
    vectors: Vectors, word: str, *, count: int = 5, among: Collection[str] | None = None
) -> tuple[Near, ...]:
    """The words whose vectors have the largest cosines with a word's, without the word itself."""
    return nearest(vectors, vector_of(vectors, word), count=count, among=among, without=(word,))


def analogy(vectors: Vectors, a: str, b: str, c: str, *, count: int = 5) -> tuple[Near, ...]:
    """The words nearest to a − b + c: king − man + woman (Mikolov et al., 2013), without these."""
    sum_of = vector_of(vectors, a) - vector_of(vectors, b) + vector_of(vectors, c)
    return nearest(vectors, sum_of, count=count, without=(a, b, c))


def nearest(
    vectors: Vectors,
    direction: Float32[np.ndarray, " D"],
    *,
    count: int = 5,
    among: Collection[str] | None = None,
    without: Collection[str] = (),
) -> tuple[Near, ...]:
    """The words nearest to a direction, nearest first; equally near ones in the vectors' order."""
    if not isinstance(count, int) or count < 1:
        raise UserError(f"count is {count!r}; give a whole number from 1 on")
    cosines = _unit(vectors.table) @ _unit(direction)
    order = np.argsort(-cosines, kind="stable")
    left = (place for place in order if vectors.words[place] not in without)
    kept = (place for place in left if among is None or vectors.words[place] in among)
    return tuple(
        Near(vectors.words[place], float(cosines[place]))
        for _, place in zip(range(count), kept, strict=False)
    )


def _place(vectors: Vectors, word: str) -> int:
    if word not in vectors.words:
        raise unknown(word, vectors.words)
    return vectors.words.index(word)


def _unit(rows: Float32[np.ndarray, "*N D"]) -> Float32[np.ndarray, "*N D"]:
    """Each row of length one; a row of zeros stays as it is."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(length > 0, length, 1)
