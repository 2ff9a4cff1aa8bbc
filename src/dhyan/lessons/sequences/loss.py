"""Categorical cross-entropy: what a decoder pays for each word, in all, and on average."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, log10

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Lines, Words, table
from dhyan.lessons.given import words_of
from dhyan.lessons.shown import Say, Shown, Story

RIGHT = (0.4, 0.1, 0.1)
SENTENCE = "सोच लो <end>"
CHANCES = tuple(tenth / 10 for tenth in range(1, 11))


@dataclass(frozen=True)
class Loss(Shown):
    """The probability of the right word at every step, and its price in nats and in powers of ten.

    `perplexity` is e to the average: among how many equally likely words one would be as unsure.
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

    def story(self, say: Say) -> Story:
        """The steps, then their sum and their mean."""
        steps = torch.stack([self.right, self.natural, self.tens], dim=1)
        sums = [[self.total, self.total_tens], [self.average, self.average_tens]]
        return Story(
            say("The loss of a sentence", "वाक्य की हानि"),
            (
                Words(
                    say(
                        "At each step the softmax gives every word a probability ŷ. The target y "
                        "is one-hot, so of −Σ y log ŷ a single term remains: minus the logarithm "
                        "of the right word's probability. The steps are added up; divided by their "
                        "number, sentences of different lengths can be compared.",
                        "हर चरण पर softmax प्रत्येक शब्द को एक प्रायिकता ŷ देता है। लक्ष्य y "
                        "one-hot है, इसलिए −Σ y log ŷ में एक ही पद बचता है: सही शब्द की प्रायिकता "
                        "का ऋणात्मक लघुगणक। सब चरणों की हानि जोड़ी जाती है; चरणों की संख्या से भाग "
                        "देने पर अलग-अलग लंबाई के वाक्यों की तुलना की जा सकती है।",
                    )
                ),
                table(
                    say("each step", "हर चरण"),
                    steps,
                    self.words,
                    ("p", "−ln p", "−log₁₀ p"),
                    digits=3,
                    after="→",
                ),
                table(
                    say("the sentence", "पूरा वाक्य"),
                    sums,
                    (say("total", "योग"), say("average", "औसत")),
                    ("−ln p", "−log₁₀ p"),
                    digits=3,
                ),
                Words(self._judged(say)),
                Lines(
                    say("the price of one word", "एक शब्द की हानि"),
                    (
                        Curve("−ln p", [log(1 / one) for one in CHANCES]),
                        Curve("−log₁₀ p", [log10(1 / one) for one in CHANCES], style="dashed"),
                    ),
                    tuple(f"{one:g}".removeprefix("0") for one in CHANCES),
                    say("probability of the right word", "सही शब्द की प्रायिकता"),
                    say("loss", "हानि"),
                ),
            ),
        )

    def _judged(self, say: Say) -> str:
        most = float(self.natural.max())
        word = ", ".join(
            one
            for one, price in zip(self.words, self.natural.tolist(), strict=True)
            if price == most
        )
        share = 100 * most / (self.total or 1)
        return say(
            f"The two columns differ by the factor ln 10 = 2.303 alone, so both are least for the "
            f"same weights. No word has more than {share:.0f} % of the total ({word}). On average "
            f"the model is as unsure as among {self.perplexity:.2f} equally likely words (the "
            f"perplexity).",
            f"दोनों स्तंभों में केवल ln 10 = 2.303 के गुणक का अंतर है, इसलिए दोनों समान भारों पर "
            f"न्यूनतम होते हैं। किसी शब्द का हिस्सा कुल हानि के {share:.0f} % से अधिक नहीं ({word})। औसतन "
            f"मॉडल उतना ही अनिश्चित है जितना {self.perplexity:.2f} समप्रायिक शब्दों में से चुनते हुए होता "
            f"(perplexity)।",
        )


def loss(
    probabilities: Sequence[int | float] = RIGHT, *, sentence: str | Sequence[str] | None = None
) -> Loss:
    """The loss of a sentence from the probability that each of its words, the end too, was given.

    >>> round(loss([0.4, 0.1, 0.1]).average, 3)
    1.84
    """
    right = _chances(probabilities)
    if sentence is None:
        known = tuple(probabilities) == RIGHT
        words = words_of(SENTENCE) if known else tuple(str(n + 1) for n in range(len(right)))
    else:
        words = words_of(sentence)
    if len(words) != len(right):
        raise UserError(
            f"probabilities: {len(right)} of them for the {len(words)} words of "
            f"{' '.join(words)!r}; give one for each"
        )
    natural, tens = -right.log(), -right.log10()
    average = float(natural.mean())
    return Loss(
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


def _chances(given: Sequence[int | float]) -> Float64[Tensor, " T"]:
    """Numbers above 0, at most 1."""
    try:
        found = torch.as_tensor(given, dtype=torch.float64)
    except (TypeError, ValueError):
        raise UserError("probabilities: not a list of numbers, such as [0.4, 0.1, 0.1]") from None
    if found.ndim != 1 or not found.numel():
        raise UserError("probabilities: not a list of numbers, such as [0.4, 0.1, 0.1]")
    for one in found.tolist():
        if not 0 < one <= 1:
            raise UserError(f"probabilities: {one:g} is none; give numbers above 0 and at most 1")
    return found
