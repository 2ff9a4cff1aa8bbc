"""One-hot vectors, bags of words, and TF-IDF."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from string import punctuation

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.text.normalize import normalize

PUNCTUATION = punctuation + "।॥…–—"


def words_in(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation before and after them."""
    words = (word.strip(PUNCTUATION) for word in normalize(text).lower().split())
    return [word for word in words if word]


def vocabulary(texts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The vocabulary of texts: every word once, in the order of first occurrence."""
    words = tuple(dict.fromkeys(word for text in texts for word in text))
    if not words:
        raise UserError("the text has no words: give it at least one")
    return words


def ids_of(words: Sequence[str], vocabulary: Sequence[str]) -> Int64[Tensor, " T"]:
    """The id of each word in a vocabulary."""
    ids = {word: id for id, word in enumerate(vocabulary)}
    for word in words:
        if word not in ids:
            raise unknown_word_error(word, vocabulary)
    return torch.tensor([ids[word] for word in words], dtype=torch.int64)


def unknown_word_error(word: str, vocabulary: Sequence[str]) -> UserError:
    """The error that a word is not in the vocabulary, with the nearest one that is."""
    near = get_close_matches(word, vocabulary, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return UserError(f"the word {word!r} is not among the {len(vocabulary):,} known ones{hint}")


def one_hot(words: Sequence[str], vocabulary: Sequence[str]) -> Float64[Tensor, "T V"]:
    """One-hot vectors: a row for each word, as wide as the vocabulary."""
    return torch.eye(len(vocabulary), dtype=torch.float64)[ids_of(words, vocabulary)]


def word_counts(
    texts: Iterable[Sequence[str]], vocabulary: Sequence[str]
) -> Float64[Tensor, "N V"]:
    """Bags of words: how often each word of the vocabulary occurs in each text, in any order."""
    return torch.stack(
        [torch.bincount(ids_of(text, vocabulary), minlength=len(vocabulary)) for text in texts]
    ).double()


def presence(counts: Float64[Tensor, "N V"]) -> Float64[Tensor, "N V"]:
    """Binary bags of words: whether each word occurs in each text, as 1 or 0."""
    return (counts > 0).double()


def idf(counts: Float64[Tensor, "N V"]) -> Float64[Tensor, " V"]:
    """Inverse document frequency, smoothed as in scikit-learn: ln((1 + n) / (1 + n_word)) + 1.

    The smoothing adds one text that has every word once.
    """
    return ((1 + len(counts)) / (1 + presence(counts).sum(0))).log() + 1


def tf_idf(counts: Float64[Tensor, "N V"]) -> Float64[Tensor, "N V"]:
    """TF-IDF: counts times idf, each row normalised to length one; scikit-learn's default.

    A text without words stays at zero.
    """
    weighted = counts * idf(counts)
    length = weighted.norm(dim=1, keepdim=True)
    return weighted / length.where(length > 0, 1.0)
