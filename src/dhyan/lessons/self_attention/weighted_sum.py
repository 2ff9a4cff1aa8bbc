"""Weighted sum: each word becomes a mixture of its sentence's vectors by given weights."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, SeededVectors, lesson, parse_words
from dhyan.lessons.seeded_vectors import seeded_vectors

VectorsByWord = Mapping[str, Sequence[float | int]]

# The notes give money and bank; the others are placed so that each sentence lies on its own side.
VECTORS: VectorsByWord = {
    "money": (2, 7),
    "bank": (9, 3),
    "grows": (4, 8),
    "river": (12, -3),
    "flows": (11, -4),
}
TENTHS: VectorsByWord = {
    word: tuple(value / 10 for value in vector) for word, vector in VECTORS.items()
}


def lookup_vectors(words: Sequence[str], vectors: VectorsByWord) -> Float64[Tensor, "T D"]:
    """The static vector of each word, the same in every context."""
    if not isinstance(vectors, Mapping):
        raise UserError('vectors: not a vector for each word, such as {"bank": [9, 3]}')
    for word in words:
        if word not in vectors:
            raise UserError(f"vectors: {word!r} has none; give one for each word of the sentence")
    rows = [vectors[word] for word in words]
    return parse_matrix("vectors", rows, rows=len(words), of="the words")


def vectors_or_seeded(
    words: Sequence[str], vectors: VectorsByWord | None, *, known: VectorsByWord, seed: int
) -> tuple[VectorsByWord, SeededVectors | None]:
    """The vectors given, or those known if every word has one, or random ones, which are named."""
    if vectors is not None:
        return vectors, None
    if all(word in known for word in words):
        return known, None
    rows = seeded_vectors(words, seed=seed).tolist()
    return dict(zip(words, rows, strict=True)), SeededVectors("vectors", seed)


SENTENCE, OTHER = "money bank grows", "river bank flows"
WEIGHTS = ((0.7, 0.2, 0.1), (0.25, 0.7, 0.05), (0.1, 0.2, 0.7))
OTHER_WEIGHTS = ((0.8, 0.15, 0.05), (0.2, 0.78, 0.02), (0.4, 0.01, 0.59))
WEIGHTS_BY_SENTENCE: Mapping[str, Matrix] = {SENTENCE: WEIGHTS, OTHER: OTHER_WEIGHTS}


@dataclass(frozen=True)
class SentenceMixture:
    """One sentence: weights, word vectors, and their weighted sums.

    `computed` is whether the weights are softmax(X Xᵀ) instead of given ones.
    """

    words: tuple[str, ...]
    weights: Float64[Tensor, "T T"]
    sums: Float64[Tensor, " T"]
    vectors: Float64[Tensor, "T D"]
    mixed: Float64[Tensor, "T D"]
    computed: bool = False

    def blocks(self, text: Text) -> Iterator[Block]:
        """The sentence, and its weights times its vectors."""
        names = self.words
        yield Paragraph(
            f"“{' '.join(names)}”" + (f". {text('computed_weights')}" if self.computed else "")
        )
        yield heatmap(text("weights"), self.weights, names, names, operator="·")
        yield table(text("vectors"), self.vectors, names, operator="=")
        yield table(text("contextual_vectors"), self.mixed, names, digits=3)


@dataclass(frozen=True)
class WeightedSum(LessonResult):
    """Two sentences, and the distances between the mixtures of shared words."""

    first: SentenceMixture
    second: SentenceMixture
    shared: tuple[str, ...]
    differences: Float64[Tensor, "N D"]
    distances: Float64[Tensor, " N"]

    def blocks(self, text: Text) -> Iterator[Block]:
        """One sentence, the other, and the word they share."""
        yield text.paragraph("definition", given=not (self.first.computed or self.second.computed))
        yield from self.first.blocks(text)
        yield from self.second.blocks(text)
        yield Paragraph(self._compared(text))

    def _compared(self, text: Text) -> str:
        if not self.shared:
            return text("no_common_word")
        return " ".join(
            self._apart(text, word, float(far))
            for word, far in zip(self.shared, self.distances, strict=True)
        )

    def _apart(self, text: Text, word: str, far: float) -> str:
        if far < 1e-12:
            return text("same_vector", word=word)
        return text("different_vectors", word=word, far=far)


@lesson
def weighted_sum(
    sentence: str | Sequence[str] = SENTENCE,
    other: str | Sequence[str] = OTHER,
    *,
    weights: Matrix | None = None,
    other_weights: Matrix | None = None,
    vectors: VectorsByWord | None = None,
    seed: int = 1,
) -> WeightedSum:
    """Mix the words of two sentences by given weights, and compare the words they share.

    Weights that are not given are those of the lesson's own sentences, and softmax(X Xᵀ) for
    others. If no vectors are given and some word is not the lesson's, all words have random
    vectors, from the seed.

    >>> weighted_sum().first.mixed[1].tolist()
    [7.0, 4.25]
    """
    words, other_words = parse_words(sentence), parse_words(other)
    known, seeded = vectors_or_seeded((*words, *other_words), vectors, known=VECTORS, seed=seed)
    first = _mixture("weights", words, weights, known)
    second = _mixture("other_weights", other_words, other_weights, known)
    if first.mixed.shape[1] != second.mixed.shape[1]:
        raise UserError("vectors: those of the two sentences differ in length; give all the same")
    shared = tuple(word for word in dict.fromkeys(first.words) if word in second.words)
    index_pairs = [(first.words.index(word), second.words.index(word)) for word in shared]
    first_indices, second_indices = ([pair[side] for pair in index_pairs] for side in (0, 1))
    differences = second.mixed[second_indices] - first.mixed[first_indices]
    return WeightedSum(first, second, shared, differences, differences.norm(dim=1), seeded=seeded)


def _mixture(
    name: str, words: tuple[str, ...], argument: Matrix | None, vectors: VectorsByWord
) -> SentenceMixture:
    embeddings = lookup_vectors(words, vectors)
    if argument is None:
        argument = WEIGHTS_BY_SENTENCE.get(" ".join(words))
    computed = argument is None
    if argument is None:
        argument = (embeddings @ embeddings.T).softmax(-1)
    of = f"the words of {' '.join(words)!r}"
    weights = parse_matrix(name, argument, rows=len(words), columns=len(words), of=of)
    sums = weights.sum(1)
    if (weights < 0).any():
        raise UserError(f"{name}: has a weight below 0; a share of a word is 0 or more")
    wrong = (sums - 1).abs() > 1e-6
    if wrong.any():
        row = int(wrong.to(torch.int8).argmax())
        raise UserError(
            f"{name}: the row of {words[row]!r} sums to {sums[row]:.4g}; make it sum to 1"
        )
    return SentenceMixture(words, weights, sums, embeddings, weights @ embeddings, computed)
