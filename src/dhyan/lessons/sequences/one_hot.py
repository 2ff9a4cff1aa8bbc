"""From words to ids to one-hot vectors, and why a matrix after them is a table of word vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Words, table
from dhyan.lessons.given import Matrix, matrix, words_of
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.text import bag_of_words as counts

SENTENCE = "think about it"
VOCABULARY = "think about it come in"
WEIGHTS = ((0.2, 0.7, -0.1), (0.5, -0.3, 0.4), (-0.6, 0.1, 0.3), (0.9, 0.0, -0.4), (0.1, 0.8, 0.6))
FLOAT = 4  # bytes
GATES = 4  # of an LSTM


@dataclass(frozen=True)
class Cost:
    """What a vocabulary costs an LSTM that reads it as one-hot vectors or through an embedding."""

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
        places = self.batch * self.length * FLOAT
        return self.words * places, self.width * places

    @property
    def parameters(self) -> tuple[int, int]:
        """Weights from a word to the gates: straight, or by way of the table of word vectors."""
        gates = GATES * self.cells
        return self.words * gates, self.words * self.width + self.width * gates

    @property
    def parameter_bytes(self) -> tuple[int, int]:
        """Bytes of these weights."""
        one, other = self.parameters
        return one * FLOAT, other * FLOAT


@dataclass(frozen=True)
class OneHot(Shown):
    """A sentence as ids and one-hot vectors, their product with a matrix, and the rows it has."""

    words: tuple[str, ...]
    vocabulary: tuple[str, ...]
    ids: Int64[Tensor, " T"]
    vectors: Float64[Tensor, "T V"]
    weights: Float64[Tensor, "V D"]
    product: Float64[Tensor, "T D"]
    rows: Float64[Tensor, "T D"]
    same: bool
    cost: Cost

    def story(self, say: Say) -> Story:
        """The product first, then the bill."""
        cost, known = self.cost, self.vocabulary
        weights, taken = _against(say, *cost.parameters), _against(say, *cost.batch_bytes)
        bill = (
            *(cost.numbers, cost.word_bytes, cost.batch_bytes),
            *(cost.parameters, cost.parameter_bytes),
        )
        return Story(
            say("One-hot vectors, and the embedding in them", "one-hot सदिश, और उनमें छिपी एम्बेडिंग"),
            (
                Words(
                    say(
                        "A word is a number, its id; a one-hot vector has a single 1 at that "
                        "place. Times W it picks one row of W, so W is a table of word vectors: "
                        "the product and the rows looked up "
                        f"{'are the same' if self.same else 'differ'}.",
                        "हर शब्द एक संख्या है, उसकी क्रम-संख्या (id); one-hot सदिश में केवल उसी स्थान "
                        "पर 1 होता है। W से गुणा करने पर वह W की एक पंक्ति चुन लेता है, इसलिए W "
                        "शब्द-सदिशों की सारणी है: गुणनफल और सारणी से ली गई पंक्तियाँ "
                        f"{'एक ही' if self.same else 'अलग-अलग'} हैं।",
                    )
                ),
                table("id", self.ids.unsqueeze(1), self.words),
                table("one-hot", self.vectors, (), known, after="·"),
                table("W", self.weights, known, after="="),
                table(say("rows of W", "W की पंक्तियाँ"), self.product, self.words),
                Words(
                    say(
                        f"With {cost.words:,} words, an LSTM of {cost.cells:,} cells and vectors "
                        f"of {cost.width:,} numbers, the embedding takes {weights} weights from a "
                        f"word to the LSTM's gates, and {taken} bytes for the vectors of "
                        f"{cost.batch:,} sentences of {cost.length:,} words.",
                        f"शब्दावली में {cost.words:,} शब्द, LSTM में {cost.cells:,} कोशिकाएँ और सदिश में "
                        f"{cost.width:,} संख्याएँ हों, तो शब्द से LSTM के द्वारों (gates) तक एम्बेडिंग "
                        f"में {weights} भार लगते हैं, और वाक्यों के सदिशों में ({cost.batch:,} वाक्य, "
                        f"हर वाक्य में {cost.length:,} शब्द) {taken} बाइट।",
                    )
                ),
                table(
                    "",
                    torch.tensor(bill),
                    (
                        say("numbers for a word", "एक शब्द के लिए संख्याएँ"),
                        say("bytes for a word", "एक शब्द के लिए बाइट"),
                        say("bytes for the batch", "बैच के लिए बाइट"),
                        say("weights", "भार"),
                        say("bytes of the weights", "भारों के लिए बाइट"),
                    ),
                    ("one-hot", say("embedding", "एम्बेडिंग")),
                ),
            ),
        )


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

    If no matrix is given, words that the vocabulary lacks are added to it and rows are drawn. The
    cost is of 4-byte numbers: `words` in all, the `width` of an embedding, the `cells` of an LSTM.

    >>> one_hot("come in").ids.tolist()
    [3, 4]
    """
    sizes = {"words": words, "width": width, "cells": cells, "batch": batch, "length": length}
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise UserError(f"{name} is {size!r}; give a whole number from 1 on")
    said = words_of(sentence)
    known = counts.vocabulary((words_of(vocabulary), said if weights is None else ()))
    if weights is None:
        weights = WEIGHTS if known == tuple(VOCABULARY.split()) else _drawn(len(known), seed)
    of = f"the words of the vocabulary {' '.join(known)!r}"
    embedding = matrix("weights", weights, rows=len(known), of=of)
    ids = counts.ids_of(said, known)
    vectors = counts.one_hot(said, known)
    product, rows = vectors @ embedding, embedding[ids]
    same = bool(torch.equal(product, rows))
    cost = Cost(words, width, cells, batch, length)
    return OneHot(said, known, ids, vectors, embedding, product, rows, same, cost)


def _drawn(rows: int, seed: int) -> Float64[Tensor, "V 3"]:
    """Rows of three numbers that can be told apart at a glance."""
    rng = torch.Generator().manual_seed(seed)
    return torch.randint(-9, 10, (rows, 3), generator=rng).double() / 10


def _against(say: Say, one: int, other: int) -> str:
    """How much less, or more, the other is."""
    if other <= one:
        return say(f"{one / other:,.1f} times fewer", f"{one / other:,.1f} गुना कम")
    return say(f"{other / one:,.1f} times more", f"{other / one:,.1f} गुना अधिक")
