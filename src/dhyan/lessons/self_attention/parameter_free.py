"""Self-attention without parameters: Y = softmax(X Xᵀ) X, all words in one go."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import parameter_free_attention
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_int, parse_ints, parse_words
from dhyan.lessons.self_attention.weighted_sum import (
    TENTHS,
    VectorsByWord,
    lookup_vectors,
    vectors_or_seeded,
)

SENTENCE = "money bank grows"
LENGTHS, WIDTH, REPEATS = (3, 30, 300), 64, 7


@dataclass(frozen=True)
class ParameterFree(LessonResult):
    """Scores, their products without softmax, weights, outputs, and the time by length."""

    words: tuple[str, ...]
    vectors: Float64[Tensor, "T D"]
    scores: Float64[Tensor, "T T"]
    without_softmax: Float64[Tensor, "T D"]
    weights: Float64[Tensor, "T T"]
    outputs: Float64[Tensor, "T D"]
    parameters: int
    lengths: tuple[int, ...]
    parallel: tuple[float, ...]
    sequential: tuple[float, ...]
    differences: tuple[float, ...]

    @property
    def shapes(self) -> str:
        """The three matrices that are multiplied."""
        count, width = self.vectors.shape
        return f"({count}×{width})({width}×{count})({count}×{width})"

    def blocks(self, text: Text) -> Iterator[Block]:
        """The dot products, the softmax, then the times."""
        names = self.words
        micro = [[1e6 * seconds for seconds in row] for row in (self.parallel, self.sequential)]
        methods = (text("in_parallel"), text("word_by_word"))
        columns = [text("word_count", n=n) for n in self.lengths]
        yield text.paragraph("raw_scores")
        yield table("X", self.vectors, names)
        yield table("X Xᵀ", self.scores, names, names, operator="→")
        yield table("(X Xᵀ) X", self.without_softmax, names, digits=3)
        yield text.paragraph("softmax_weights")
        yield heatmap("softmax(X Xᵀ)", self.weights, names, names, digits=3, operator="→")
        yield table("softmax(X Xᵀ) X", self.outputs, names, digits=3)
        yield text.paragraph("time_by_length")
        yield table(text("microseconds"), micro, methods, columns, digits=0)
        yield Paragraph(self._timed(text))

    def _timed(self, text: Text) -> str:
        count, ratio = self.lengths[-1], self.sequential[-1] / self.parallel[-1]
        most = max(self.differences)
        same = text("same_result", most=most)
        if ratio > 1:
            speed = text("parallel_faster", count=count, ratio=ratio)
        else:
            speed = text("parallel_not_faster", count=count, ratio=ratio)
        return f"{same} {speed}"


@lesson
def parameter_free(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    vectors: VectorsByWord | None = None,
    lengths: Sequence[int] = LENGTHS,
    width: int = WIDTH,
    seed: int = 1,
) -> ParameterFree:
    """Mix every word by its dot products with all; then time sentences of these `lengths`.

    If no vectors are given and some word is not the lesson's, all words have random vectors, from
    the seed.

    >>> parameter_free().parameters
    0
    """
    words = parse_words(sentence)
    counts, width, seed = (
        parse_ints("lengths", lengths),
        parse_int("width", width),
        parse_int("seed", seed, least=0),
    )
    known, seeded = vectors_or_seeded(words, vectors, known=TENTHS, seed=seed)
    x = lookup_vectors(words, known)
    scores = x @ x.T
    timed = [_timed(count, width, seed) for count in counts]
    parallel, sequential, differences = (tuple(row[part] for row in timed) for part in range(3))
    weights = scores.softmax(-1)
    return ParameterFree(
        words=words,
        vectors=x,
        scores=scores,
        without_softmax=scores @ x,
        weights=weights,
        outputs=weights @ x,
        parameters=sum(weight.numel() for weight in parameter_free_attention().parameters()),
        lengths=counts,
        parallel=parallel,
        sequential=sequential,
        differences=differences,
        seeded=seeded,
    )


def all_at_once(x: Float64[Tensor, "T D"]) -> Float64[Tensor, "T D"]:
    """All queries in one matrix product."""
    return (x @ x.T).softmax(-1) @ x


def word_by_word(x: Float64[Tensor, "T D"]) -> Float64[Tensor, "T D"]:
    """One query at a time."""
    return torch.stack([(x @ word).softmax(0) @ x for word in x])


def _timed(count: int, width: int, seed: int) -> tuple[float, float, float]:
    """Median seconds in parallel and word by word, and the largest difference of the results."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, width, generator=generator, dtype=torch.float64) / width**0.5
    difference = (all_at_once(x) - word_by_word(x)).abs().max()
    return _seconds(all_at_once, x), _seconds(word_by_word, x), float(difference)


def _seconds(function: Callable[[Tensor], Tensor], x: Tensor) -> float:
    durations = []
    for _ in range(REPEATS):
        start = perf_counter()
        function(x)
        durations.append(perf_counter() - start)
    return median(durations)
