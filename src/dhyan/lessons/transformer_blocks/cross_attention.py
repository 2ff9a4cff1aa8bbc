"""Cross-attention: the same function, asked by one sequence and answered by another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.insight.blocks import Words, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_words
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.transformer_blocks.next_word import PAIRS, NextWords, next_words

SENTENCE = "we are friends"
Rows = tuple[tuple[float, ...], ...]
# An axis for each idea; "are" and हैं also say a little of who it is, for they agree with it.
VECTORS: dict[str, tuple[Rows, Rows]] = {
    "we are friends": (((2, 0, 0), (1, 0, 2), (0, 2, 0)), ((2, 0, 0), (0, 2, 0), (1, 0, 2))),
    "I like eating pizza": (
        ((2, 0, 0, 0), (0, 2, 0, 0), (0, 0, 2, 0), (0, 0, 0, 2)),
        ((2, 0, 0, 0), (0, 0, 0, 2), (0, 0, 2, 0), (0, 2, 0, 0), (0, 1, 0, 0)),
    ),
}


@dataclass(frozen=True)
class Cross(LessonResult):
    """The weights of an output within itself, and of the same output over the input.

    `by_hand` says that vectors are the lesson's own, which nothing has learned.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    source_vectors: Float64[Tensor, "S D"]
    target_vectors: Float64[Tensor, "T D"]
    queries: Float64[Tensor, "T K"]
    own_keys: Float64[Tensor, "T K"]
    own_values: Float64[Tensor, "T V"]
    keys: Float64[Tensor, "S K"]
    values: Float64[Tensor, "S V"]
    self_weights: Float64[Tensor, "T T"]
    self_outputs: Float64[Tensor, "T V"]
    cross_weights: Float64[Tensor, "T S"]
    cross_outputs: Float64[Tensor, "T V"]
    following: NextWords
    by_hand: bool = False

    def page(self, text: Text) -> Page:
        """Both tables side by side, then the next word."""
        source, target = self.source, self.target
        return Page(
            text("cross_attention.title"),
            (
                Words(text("cross_attention.queries_come_output_sentence")),
                *self._origin(text),
                table(text("cross_attention.input_x"), self.source_vectors, source),
                table(text("cross_attention.output_y"), self.target_vectors, target),
                Words(
                    text("cross_attention.weights_softmax_q_k", query_width=self.queries.shape[1])
                ),
                table(
                    text("cross_attention.self_y_asks_y"),
                    self.self_weights,
                    target,
                    target,
                    kind="weights",
                    digits=3,
                ),
                table(
                    text("cross_attention.cross_y_asks_x"),
                    self.cross_weights,
                    target,
                    source,
                    kind="weights",
                    digits=3,
                ),
                *self.following.parts(text),
            ),
        )

    def _origin(self, text: Text) -> tuple[Words, ...]:
        if not self.by_hand:
            return ()
        told = text("cross_attention.vectors_below_written_hand")
        return (Words(told),)


def cross_attention(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    target: str | Sequence[str] | None = None,
    source_vectors: Matrix | None = None,
    target_vectors: Matrix | None = None,
    w_query: Matrix | None = None,
    w_key: Matrix | None = None,
    w_value: Matrix | None = None,
    steps: int = 120,
    seed: int = 1,
    hear: Callable[[str], None] = lambda line: None,
) -> Cross:
    """Attention of an output within itself and over its input, from a vector for each word.

    A small Transformer then learns the pair, beside a few others like it, in a few seconds, and
    tells the next word of every beginning.

    >>> [round(one, 3) for one in cross(steps=1).cross_weights[1].tolist()]
    [0.083, 0.083, 0.834]
    """
    source = parse_words(sentence)
    plain = " ".join(source)
    said = parse_words(_known(plain) if target is None else target)
    given = [
        _vectors(plain, side, one) for side, one in enumerate((source_vectors, target_vectors))
    ]
    x = parse_matrix("source_vectors", given[0], rows=len(source), of=f"the words of {plain!r}")
    width, of = x.shape[1], f"the words of {' '.join(said)!r}"
    y = parse_matrix("target_vectors", given[1], rows=len(said), columns=width, of=of)
    unit = torch.eye(width, dtype=torch.float64)
    maps = {
        name: unit
        if one is None
        else parse_matrix(name, one, rows=width, of="the numbers of a vector")
        for name, one in (("w_query", w_query), ("w_key", w_key), ("w_value", w_value))
    }
    if maps["w_query"].shape != maps["w_key"].shape:
        raise UserError(
            "w_query and w_key must be equally wide: a query meets keys of its own width"
        )
    queries = y @ maps["w_query"]
    own_keys, keys = (one @ maps["w_key"] for one in (y, x))
    own_values, values = (one @ maps["w_value"] for one in (y, x))
    within, across = attend(queries, own_keys, own_values), attend(queries, keys, values)
    return Cross(
        source,
        said,
        x,
        y,
        queries,
        own_keys,
        own_values,
        keys,
        values,
        self_weights=within.weights,
        self_outputs=within.context,
        cross_weights=across.weights,
        cross_outputs=across.context,
        following=next_words(source, said, steps=steps, seed=seed, hear=hear),
        by_hand=source_vectors is None or target_vectors is None,
    )


def _known(sentence: str) -> str:
    """The translation of one of the lesson's own sentences."""
    for source, target in PAIRS:
        if source == sentence:
            return target
    raise UserError(f"target: what does {sentence!r} become? Give its translation")


def _vectors(sentence: str, side: int, given: Matrix | None) -> Matrix:
    """The vectors given, or those of one of the lesson's own examples."""
    if given is not None:
        return given
    if sentence in VECTORS:
        return VECTORS[sentence][side]
    name = ("source_vectors", "target_vectors")[side]
    raise UserError(f"{name}: give a row of numbers for each word, such as [[2, 0], [0, 2]]")
