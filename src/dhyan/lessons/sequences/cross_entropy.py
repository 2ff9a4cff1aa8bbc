"""Categorical cross-entropy of a sentence: per word, summed and averaged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log, log10

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, lesson, parse_words

RIGHT = (0.4, 0.1, 0.1)
SENTENCE = "सोच लो <end>"
PROBABILITIES = tuple(tenth / 10 for tenth in range(1, 11))


@dataclass(frozen=True)
class CrossEntropy(LessonResult):
    """The probability of the correct word at every step, and its loss in nats and in base 10.

    `perplexity` is e to the average: the number of equally likely words with the same loss.
    """

    words: tuple[str, ...]
    right: Float64[Tensor, " T"]
    natural: Float64[Tensor, " T"]
    tens: Float64[Tensor, " T"]
    total: float
    average: float
    total_tens: float
    average_tens: float
    perplexity: float

    def blocks(self, text: Text) -> Iterator[Block]:
        """The steps, then their sum and their mean."""
        steps = torch.stack([self.right, self.natural, self.tens], dim=1)
        sums = [[self.total, self.total_tens], [self.average, self.average_tens]]
        yield text.paragraph("definition")
        yield table(
            text("each_step"), steps, self.words, ("p", "−ln p", "−log₁₀ p"), digits=3, operator="→"
        )
        yield table(
            text("whole_sentence"),
            sums,
            (text("row_total"), text("row_average")),
            ("−ln p", "−log₁₀ p"),
            digits=3,
        )
        yield Paragraph(self._verdict(text))
        yield LineChart(
            text("loss_by_probability"),
            (
                Curve("−ln p", [log(1 / prob) for prob in PROBABILITIES]),
                Curve("−log₁₀ p", [log10(1 / prob) for prob in PROBABILITIES], style="dashed"),
            ),
            tuple(f"{prob:g}".removeprefix("0") for prob in PROBABILITIES),
            text("axis_probability"),
            text("axis_loss"),
        )

    def _verdict(self, text: Text) -> str:
        most = float(self.natural.max())
        word = ", ".join(
            other_word
            for other_word, price in zip(self.words, self.natural.tolist(), strict=True)
            if price == most
        )
        share = 100 * most / (self.total or 1)
        return text("perplexity", share=share, word=word)


@lesson
def cross_entropy(
    probabilities: Sequence[int | float] = RIGHT, *, sentence: str | Sequence[str] | None = None
) -> CrossEntropy:
    """Cross-entropy of a sentence, from the probability of each of its words and of the end.

    >>> round(cross_entropy([0.4, 0.1, 0.1]).average, 3)
    1.84
    """
    right = _probabilities(probabilities)
    if sentence is None:
        is_default = tuple(probabilities) == RIGHT
        words = (
            parse_words(SENTENCE) if is_default else tuple(str(n + 1) for n in range(len(right)))
        )
    else:
        words = parse_words(sentence)
    if len(words) != len(right):
        raise UserError(
            f"probabilities: {len(right)} of them for the {len(words)} words of "
            f"{' '.join(words)!r}; give one for each"
        )
    natural, tens = -right.log(), -right.log10()
    average = float(natural.mean())
    return CrossEntropy(
        words,
        right,
        natural,
        tens,
        float(natural.sum()),
        average,
        float(tens.sum()),
        float(tens.mean()),
        exp(average),
    )


def _probabilities(values: Sequence[int | float]) -> Float64[Tensor, " T"]:
    """Probabilities as a tensor; each is above 0 and at most 1."""
    try:
        probs = torch.as_tensor(values, dtype=torch.float64)
    except (TypeError, ValueError):
        raise UserError("probabilities: not a list of numbers, such as [0.4, 0.1, 0.1]") from None
    if probs.ndim != 1 or not probs.numel():
        raise UserError("probabilities: not a list of numbers, such as [0.4, 0.1, 0.1]")
    for prob in probs.tolist():
        if not 0 < prob <= 1:
            raise UserError(
                f"probabilities: {prob:g} is out of range; give numbers above 0 and at most 1"
            )
    return probs
