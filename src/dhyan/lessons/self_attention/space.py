"""A small space to put words in: the notes' money and bank, and a few words beside them."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.parse_matrix import parse_matrix

Vectors = Mapping[str, Sequence[float | int]]

# The notes give money and bank; the others are placed so that each sentence lies on its own side.
VECTORS: Vectors = {
    "money": (2, 7),
    "bank": (9, 3),
    "grows": (4, 8),
    "river": (12, -3),
    "flows": (11, -4),
}
TENTHS: Vectors = {word: tuple(one / 10 for one in at) for word, at in VECTORS.items()}


def vectors_of(words: Sequence[str], vectors: Vectors) -> Float64[Tensor, "T D"]:
    """The vector of each word, which is the same wherever the word stands."""
    if not isinstance(vectors, Mapping):
        raise UserError('vectors: not a vector for each word, such as {"bank": [9, 3]}')
    for word in words:
        if word not in vectors:
            raise UserError(f"vectors: {word!r} has none; give one for each word of the sentence")
    given = [vectors[word] for word in words]
    return parse_matrix("vectors", given, rows=len(words), of="the words")
