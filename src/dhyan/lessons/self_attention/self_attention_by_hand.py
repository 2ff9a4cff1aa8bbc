"""Self-attention with every matrix written out: X W_q, X W_k, X W_v, Q Kᵀ, /√dk, softmax, · V."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, SeededVectors, lesson, parse_words
from dhyan.lessons.seeded_vectors import seeded_vectors

SATURATED = 0.9995  # a weight that is printed as 1.000


@dataclass(frozen=True)
class Example:
    """A sentence with its vectors and matrices; a matrix that is None changes nothing."""

    sentence: str
    embeddings: Matrix
    w_query: Matrix | None = None
    w_key: Matrix | None = None
    w_value: Matrix | None = None


_MONEY_BANK = Example(
    "money bank",
    ((2, 7), (9, 3)),
    w_query=((2, 1), (1, 2)),
    w_key=((3, 4), (5, 1)),
    w_value=((4, 1), (2, 1)),
)
_TENTHS = replace(_MONEY_BANK, embeddings=((0.2, 0.7), (0.9, 0.3)))
EXAMPLES = {
    "cat_sat": Example("The cat sat", ((1, 0, 1, 0), (0, 1, 0, 1), (1, 1, 1, 1))),
    "money_bank": _MONEY_BANK,
    "money_bank_tenth": _TENTHS,
    "money_bank_asymmetric": replace(_TENTHS, w_key=((3, 5), (4, 1))),
}


@dataclass(frozen=True)
class SelfAttentionByHand(LessonResult):
    """Every matrix from the embeddings to the outputs."""

    words: tuple[str, ...]
    embeddings: Float64[Tensor, "T D"]
    queries: Float64[Tensor, "T K"]
    keys: Float64[Tensor, "T K"]
    values: Float64[Tensor, "T V"]
    scores: Float64[Tensor, "T T"]
    scaled: Float64[Tensor, "T T"]
    weights: Float64[Tensor, "T T"]
    outputs: Float64[Tensor, "T V"]

    def blocks(self, text: Text) -> Iterator[Block]:
        """The matrices in the order of computation."""
        names, width = self.words, self.queries.shape[1]
        yield text.paragraph("definition")
        yield table("X", self.embeddings, names)
        yield table("Q = X W_q", self.queries, names)
        yield table("K = X W_k", self.keys, names)
        yield table("V = X W_v", self.values, names)
        yield table("Q Kᵀ", self.scores, names, names, operator="→")
        yield table(f"Q Kᵀ / √{width}", self.scaled, names, names, operator="→")
        yield heatmap(text("weights"), self.weights, names, names, digits=3)
        yield table(text("outputs"), self.outputs, names, digits=3)
        if self.saturated:
            yield Paragraph(self._saturated(text))

    @property
    def saturated(self) -> bool:
        """Whether one of several words has all the weight although the scores were scaled."""
        scaled = not torch.equal(self.scaled, self.scores)
        return scaled and len(self.words) > 1 and float(self.weights.max()) >= SATURATED

    def _saturated(self, text: Text) -> str:
        width = self.queries.shape[1]
        return text("saturated_softmax", width=width)


@lesson
def self_attention_by_hand(
    sentence: str | Sequence[str] | None = None,
    *,
    embeddings: Matrix | None = None,
    w_query: Matrix | None = None,
    w_key: Matrix | None = None,
    w_value: Matrix | None = None,
    scale: bool = True,
    example: str = "cat_sat",
    seed: int = 1,
) -> SelfAttentionByHand:
    """Self-attention of a sentence from a vector for each word; every matrix can be given.

    Arguments left out are those of an `example`: "cat_sat" (The cat sat, with identity matrices),
    "money_bank" (saturated even after √2), "money_bank_tenth" (a tenth of its vectors),
    "money_bank_asymmetric" (the same with another W_k, whose scores are not symmetric). The words
    of another sentence have random embeddings, from the seed, unless `embeddings` are given.

    >>> self_attention_by_hand(scale=False).scores.tolist()
    [[2.0, 0.0, 2.0], [0.0, 2.0, 2.0], [2.0, 2.0, 4.0]]
    """
    if example not in EXAMPLES:
        raise UserError(f"example: {example!r} is none; there are {', '.join(EXAMPLES)}")
    default_example = EXAMPLES[example]
    own_words = parse_words(default_example.sentence)
    words = own_words if sentence is None else parse_words(sentence)
    seeded, vectors = None, default_example.embeddings if embeddings is None else embeddings
    if embeddings is None and words != own_words:
        width = len(default_example.embeddings[0])
        seeded, vectors = (
            SeededVectors("embeddings", seed),
            seeded_vectors(words, seed=seed, width=width),
        )
    x = parse_matrix("embeddings", vectors, rows=len(words), of=f"the words of {' '.join(words)!r}")
    width = x.shape[1]
    unit = torch.eye(width, dtype=torch.float64)
    overrides = {"w_query": w_query, "w_key": w_key, "w_value": w_value}
    matrices = {
        name: getattr(default_example, name) if matrix is None else matrix
        for name, matrix in overrides.items()
    }
    maps = {
        name: unit
        if matrix is None
        else parse_matrix(name, matrix, rows=width, of="the numbers of a vector")
        for name, matrix in matrices.items()
    }
    queries, keys, values = (x @ projection for projection in maps.values())
    if queries.shape != keys.shape:
        raise UserError(
            f"queries have {queries.shape[1]} numbers and keys {keys.shape[1]}: "
            "w_query and w_key must be equally wide"
        )
    scores = queries @ keys.T
    scaled = scores / keys.shape[1] ** 0.5 if scale else scores
    weights = scaled.softmax(-1)
    return SelfAttentionByHand(
        words, x, queries, keys, values, scores, scaled, weights, weights @ values, seeded=seeded
    )
