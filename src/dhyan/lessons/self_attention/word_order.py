"""Permutation equivariance: without positions, attention ignores word order."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import Attention, MultiHeadAttention, parameter_free_attention
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, SeededVectors, lesson, parse_int, parse_words
from dhyan.lessons.seeded_vectors import seeded_vectors
from dhyan.lessons.self_attention.weighted_sum import VectorsByWord, lookup_vectors
from dhyan.models.positions import Sinusoids

SENTENCE = "dog bites man"
HEADS, NOTHING = 2, 1e-9


@dataclass(frozen=True)
class WordOrder(LessonResult):
    """Outputs in both orders; `permutation` maps the second order to the first.

    `differences` are the largest |Δ| of a word: a row for attention without parameters and one for
    untrained heads, a column without positions and one with them.
    """

    words: tuple[str, ...]
    other: tuple[str, ...]
    permutation: tuple[int, ...]
    vectors: Float64[Tensor, "T D"]
    positions: Float64[Tensor, "T D"]
    outputs: Float64[Tensor, "T D"]
    other_outputs: Float64[Tensor, "T D"]
    positioned_outputs: Float64[Tensor, "T D"]
    other_positioned_outputs: Float64[Tensor, "T D"]
    differences: Float64[Tensor, "2 2"]

    def blocks(self, text: Text) -> Iterator[Block]:
        """Without positions, with them, and the differences."""
        here, there = " ".join(self.words), " ".join(self.other)
        rows = (text("parameter_free"), text("multi_head"))
        columns = (text("without_positions"), text("with_positions"))
        yield text.paragraph("setup", here=here, there=there)
        yield table(text("outputs_first_order"), self.outputs, self.words)
        yield table(text("outputs_second_order"), self.other_outputs, self.other)
        yield table(text("positions_first_order"), self.positioned_outputs, self.words)
        yield table(text("positions_second_order"), self.other_positioned_outputs, self.other)
        yield table(text("largest_difference"), self.differences, rows, columns, digits=4)
        yield Paragraph(f"{self._blind(text)} {self._cured(text)}".strip())

    def _blind(self, text: Text) -> str:
        most = float(self.differences[:, 0].max())
        if self.words == self.other:
            return ""
        if most < NOTHING:
            return text("order_ignored", most=most)
        return text("order_not_ignored", most=most)

    def _cured(self, text: Text) -> str:
        least = float(self.differences[:, 1].min())
        if len(set(self.words)) == 1:
            return text("single_word")
        if self.words == self.other:
            return text("same_order")
        if least > NOTHING:
            return text("positions_distinguish")
        return text("positions_do_not_distinguish")


@lesson
def word_order(
    sentence: str | Sequence[str] = SENTENCE,
    other: str | Sequence[str] | None = None,
    *,
    vectors: VectorsByWord | None = None,
    width: int = 6,
    seed: int = 1,
) -> WordOrder:
    """Attention over the same words in two orders; `other` is the sentence backwards if not given.

    Vectors that are not given are random, from the seed, one for each distinct word.
    """
    words = parse_words(sentence)
    other_words = tuple(reversed(words)) if other is None else parse_words(other)
    permutation, width, seed = (
        _permutation(words, other_words),
        parse_int("width", width),
        parse_int("seed", seed, least=0),
    )
    seeded = SeededVectors("vectors", seed) if vectors is None else None
    x = (
        seeded_vectors(words, seed=seed, width=width)
        if vectors is None
        else lookup_vectors(words, vectors)
    )
    positions = Sinusoids(x.shape[1])(0, len(words)).double()
    inputs = [x, x[permutation], x + positions, x[permutation] + positions]
    outputs, other_outputs, positioned_outputs, other_positioned_outputs = (
        _attend(parameter_free_attention(), sequence) for sequence in inputs
    )
    heads = _heads(x.shape[1], seed)
    multihead_outputs = [_attend(heads, sequence) for sequence in inputs]
    pairs = (
        (outputs, other_outputs),
        (positioned_outputs, other_positioned_outputs),
        multihead_outputs[:2],
        multihead_outputs[2:],
    )
    differences = [(there - here[permutation]).abs().max() for here, there in pairs]
    return WordOrder(
        words,
        other_words,
        tuple(permutation),
        x,
        positions,
        outputs,
        other_outputs,
        positioned_outputs,
        other_positioned_outputs,
        torch.stack(differences).unflatten(0, (2, 2)),
        seeded=seeded,
    )


def _permutation(words: tuple[str, ...], other_words: tuple[str, ...]) -> list[int]:
    """For each word of the other order, its index in the first."""
    if Counter(words) != Counter(other_words):
        raise UserError(
            f"other: {' '.join(other_words)!r} is not {' '.join(words)!r} in another order"
        )
    left = {
        word: [at for at, other_word in enumerate(words) if other_word == word] for word in words
    }
    return [left[word].pop(0) for word in other_words]


def _heads(width: int, seed: int) -> MultiHeadAttention:
    """Untrained heads; the global random state stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MultiHeadAttention(width, HEADS if width % HEADS == 0 else 1).double()


@torch.no_grad()
def _attend(attention: Attention, x: Float64[Tensor, "T D"]) -> Float64[Tensor, "T D"]:
    states = x.unsqueeze(0)
    real = torch.ones(states.shape[:2], dtype=torch.bool)
    return attention(states, attention.remember(states, real)).context[0]
