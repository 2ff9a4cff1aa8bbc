"""One-hot vectors: from words to ids to vectors, and why a matrix product looks up an embedding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_words
from dhyan.text import bag_of_words as counts

SENTENCE = "think about it"
VOCABULARY = "think about it come in"
WEIGHTS = ((0.2, 0.7, -0.1), (0.5, -0.3, 0.4), (-0.6, 0.1, 0.3), (0.9, 0.0, -0.4), (0.1, 0.8, 0.6))
FLOAT = 4  # bytes
GATES = 4  # of an LSTM


@dataclass(frozen=True)
class Cost:
    """Memory and parameters of an LSTM's input: one-hot vectors against an embedding."""

    words: int
    width: int
    cells: int
    batch: int
    length: int

    @property
    def numbers(self) -> tuple[int, int]:
        """Numbers in the vector of one word, one-hot and dense."""
        return self.words, self.width

    @property
    def word_bytes(self) -> tuple[int, int]:
        """Bytes of the vector of one word."""
        return self.words * FLOAT, self.width * FLOAT

    @property
    def batch_bytes(self) -> tuple[int, int]:
        """Bytes of the vectors of a batch of sentences."""
        scale = self.batch * self.length * FLOAT
        return self.words * scale, self.width * scale

    @property
    def parameters(self) -> tuple[int, int]:
        """Weights from a word to the gates: directly, or through an embedding."""
        gates = GATES * self.cells
        return self.words * gates, self.words * self.width + self.width * gates

    @property
    def parameter_bytes(self) -> tuple[int, int]:
        """Bytes of these weights."""
        straight, embedded = self.parameters
        return straight * FLOAT, embedded * FLOAT


@dataclass(frozen=True)
class OneHot(LessonResult):
    """A sentence as ids and one-hot vectors, their product with a matrix, and the matrix's rows."""

    words: tuple[str, ...]
    vocabulary: tuple[str, ...]
    ids: Int64[Tensor, " T"]
    vectors: Float64[Tensor, "T V"]
    weights: Float64[Tensor, "V D"]
    product: Float64[Tensor, "T D"]
    rows: Float64[Tensor, "T D"]
    same: bool
    cost: Cost

    def blocks(self, text: Text) -> Iterator[Block]:
        """The product, then the costs."""
        cost, vocabulary = self.cost, self.vocabulary
        weights, memory = _ratio(text, *cost.parameters), _ratio(text, *cost.batch_bytes)
        bill = (
            *(cost.numbers, cost.word_bytes, cost.batch_bytes),
            *(cost.parameters, cost.parameter_bytes),
        )
        yield text.paragraph("lookup_is_product")
        yield table("id", self.ids.unsqueeze(1), self.words)
        yield table("one-hot", self.vectors, (), vocabulary, operator="·")
        yield table("W", self.weights, vocabulary, operator="=")
        yield table(text("rows_of_w"), self.product, self.words)
        yield text.paragraph(
            "cost",
            words=cost.words,
            cells=cost.cells,
            width=cost.width,
            weights=weights,
            memory=memory,
            batch=cost.batch,
            length=cost.length,
        )
        yield table(
            "",
            torch.tensor(bill),
            (
                text("row_numbers_per_word"),
                text("row_bytes_per_word"),
                text("row_bytes_per_batch"),
                text("row_weights"),
                text("row_bytes_of_weights"),
            ),
            ("one-hot", text("column_embedding")),
        )


@lesson
def one_hot(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    vocabulary: str | Sequence[str] = VOCABULARY,
    weights: Matrix | None = None,
    words: int = 100_000,
    width: int = 300,
    cells: int = 512,
    batch: int = 64,
    length: int = 20,
    seed: int = 1,
) -> OneHot:
    """A sentence one-hot over a vocabulary, times a matrix with a row for each of its words.

    Without a matrix, unknown words are added to the vocabulary and the rows are random. Costs are for
    4-byte numbers: a vocabulary of `words`, an embedding of `width`, an LSTM of `cells`.

    >>> one_hot("come in").ids.tolist()
    [3, 4]
    """
    sizes = {"words": words, "width": width, "cells": cells, "batch": batch, "length": length}
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise UserError(f"{name} is {size!r}; give a whole number from 1 on")
    tokens = parse_words(sentence)
    vocabulary_words = counts.vocabulary(
        (parse_words(vocabulary), tokens if weights is None else ())
    )
    if weights is None:
        weights = (
            WEIGHTS
            if vocabulary_words == tuple(VOCABULARY.split())
            else _random_rows(len(vocabulary_words), seed)
        )
    of = f"the words of the vocabulary {' '.join(vocabulary_words)!r}"
    embedding = parse_matrix("weights", weights, rows=len(vocabulary_words), of=of)
    ids = counts.ids_of(tokens, vocabulary_words)
    vectors = counts.one_hot(tokens, vocabulary_words)
    product, rows = vectors @ embedding, embedding[ids]
    same = bool(torch.equal(product, rows))
    cost = Cost(words, width, cells, batch, length)
    return OneHot(tokens, vocabulary_words, ids, vectors, embedding, product, rows, same, cost)


def _random_rows(rows: int, seed: int) -> Float64[Tensor, "V 3"]:
    """Random rows of three numbers with one decimal."""
    rng = torch.Generator().manual_seed(seed)
    return torch.randint(-9, 10, (rows, 3), generator=rng).double() / 10


def _ratio(text: Text, first: int, second: int) -> str:
    """The ratio of two counts in words."""
    if second <= first:
        return text("times_fewer", ratio=first / second)
    return text("times_more", ratio=second / first)
