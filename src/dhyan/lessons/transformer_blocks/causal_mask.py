"""Causal mask: −∞ above the diagonal before the softmax, compared with zeros after it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Paragraph, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, SeededVectors, lesson, parse_words
from dhyan.lessons.seeded_vectors import WIDTH, seeded_vectors

SENTENCE = "how are you"
WEIGHTS = ((0.2, 0.1, 0.7), (0.3, 0.2, 0.5), (0.6, 0.3, 0.1))
EXACT = 1e-9


@dataclass(frozen=True)
class CausalMask(LessonResult):
    """Attention weights unmasked, zeroed after the softmax, and masked before it."""

    words: tuple[str, ...]
    scores: Float64[Tensor, "T T"]
    weights: Float64[Tensor, "T T"]
    zeroed: Float64[Tensor, "T T"]
    zeroed_sums: Float64[Tensor, " T"]
    hidden: Float64[Tensor, "T T"]
    masked: Float64[Tensor, "T T"]
    masked_sums: Float64[Tensor, " T"]

    def blocks(self, text: Text) -> Iterator[Block]:
        """Weights without a mask, zeroed after the softmax, masked before it."""
        names, total = self.words, text("column_sum")
        short = int((self.zeroed_sums < 1 - EXACT).sum())
        yield text.paragraph("definition")
        yield from self._scores(text)
        yield heatmap(text("unmasked_weights"), self.weights, names, names)
        yield Paragraph(
            text("zeroed_rows", short=short, names_count=len(names), single_short=short == 1)
            if short
            else text("zeroed_rows_unchanged")
        )
        yield heatmap(text("zeroed_weights"), self.zeroed, names, names)
        yield heatmap("", self.zeroed_sums[:, None], (), (total,))
        yield text.paragraph("masked_scores")
        yield table(text("scores"), self.hidden, names, names, operator="→")
        yield heatmap(text("masked_weights"), self.masked, names, names)
        yield heatmap("", self.masked_sums[:, None], (), (total,))

    def _scores(self, text: Text) -> Iterator[Block]:
        """The scores without a mask, if all are numbers: a weight of 0 has a score of −∞."""
        if not self.scores.isfinite().all():
            return
        yield table(text("scores"), self.scores, self.words, self.words, operator="→")


@lesson
def causal_mask(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    weights: Matrix | None = None,
    scores: Matrix | None = None,
    seed: int = 1,
) -> CausalMask:
    """Causally masked weights, from unmasked weights or scores.

    Scores of given weights are their logarithms, of which the softmax makes the weights again. For
    a sentence other than the lesson's, without weights and scores, the scores are X Xᵀ/√d of random
    vectors X, from the seed.

    >>> [round(value, 3) for value in causal_mask().masked[1].tolist()]
    [0.6, 0.4, 0.0]
    """
    words = parse_words(sentence)
    if weights is not None and scores is not None:
        raise UserError("weights and scores were given: give one of them, the other follows")
    size, of, seeded = len(words), f"the words of {' '.join(words)!r}", None
    if weights is None and scores is None and words != parse_words(SENTENCE):
        x = seeded_vectors(words, seed=seed)
        scores, seeded = x @ x.T / WIDTH**0.5, SeededVectors("scores", seed)
    if scores is not None:
        raw_scores = parse_matrix("scores", scores, rows=size, columns=size, of=of)
    else:
        raw_weights = WEIGHTS if weights is None else weights
        raw_scores = _shares(
            parse_matrix("weights", raw_weights, rows=size, columns=size, of=of)
        ).log()
    future = torch.ones(size, size, dtype=torch.bool).triu(1)
    unmasked = raw_scores.softmax(-1)
    zeroed = unmasked.masked_fill(future, 0.0)
    hidden = raw_scores.masked_fill(future, -torch.inf)
    masked = hidden.softmax(-1)
    return CausalMask(
        words,
        raw_scores,
        unmasked,
        zeroed,
        zeroed.sum(-1),
        hidden,
        masked,
        masked.sum(-1),
        seeded=seeded,
    )


def _shares(weights: Float64[Tensor, "T T"]) -> Float64[Tensor, "T T"]:
    """Check that every row is a softmax output with some weight on the past."""
    for number, row in enumerate(weights, 1):
        if (row < 0).any() or abs(float(row.sum()) - 1) > 1e-6:
            raise UserError(
                f"weights: row {number} is no row of weights; give numbers from 0 to 1 that sum to "
                f"one, or give scores instead"
            )
        if not (row[:number] > 0).any():
            raise UserError(
                f"weights: row {number} gives all to later words; leave some for its past"
            )
    return weights
