"""Hiding the future: −∞ above the diagonal before the softmax, against zeros after it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Table, Words, table
from dhyan.lessons.given import Matrix, matrix, words_of
from dhyan.lessons.shown import Say, Shown, Story

SENTENCE = "how are you"
WEIGHTS = ((0.2, 0.1, 0.7), (0.3, 0.2, 0.5), (0.6, 0.3, 0.1))
EXACT = 1e-9


@dataclass(frozen=True)
class Mask(Shown):
    """The weights of every word with the future seen, zeroed too late, and hidden in time."""

    words: tuple[str, ...]
    scores: Float64[Tensor, "T T"]
    weights: Float64[Tensor, "T T"]
    zeroed: Float64[Tensor, "T T"]
    zeroed_sums: Float64[Tensor, " T"]
    hidden: Float64[Tensor, "T T"]
    masked: Float64[Tensor, "T T"]
    masked_sums: Float64[Tensor, " T"]

    def story(self, say: Say) -> Story:
        """Without a mask, with one too late, with one in time."""
        names, total = self.words, say("sum", "योग")
        short = int((self.zeroed_sums < 1 - EXACT).sum())
        return Story(
            say("The mask: no word sees a later one", "मास्क: कोई शब्द अपने बाद का शब्द नहीं देखता"),
            (
                Words(
                    say(
                        "While it is being said, a sentence has no later words. So what lies above "
                        "the diagonal must get no weight.",
                        "वाक्य बोलते समय आगे के शब्द अभी होते ही नहीं। इसलिए विकर्ण के ऊपर की जगहों "
                        "को कोई भार नहीं मिलना चाहिए।",
                    )
                ),
                *self._scores(say),
                table(
                    say("weights without a mask", "बिना मास्क के भार"),
                    self.weights,
                    names,
                    names,
                    kind="weights",
                ),
                Words(
                    say(
                        f"Zeroed after the softmax, {short} of {len(names)} rows no longer sum to "
                        "one: weight was given away and is lost.",
                        f"softmax के बाद शून्य करने पर {len(names)} में से {short} "
                        f"{'पंक्ति' if short == 1 else 'पंक्तियों'} का योग एक नहीं रहता: जो भार बाँटा जा "
                        "चुका था, वह खो जाता है।",
                    )
                    if short
                    else say(
                        "Zeroed after the softmax the rows still sum to one here, because no later "
                        "word had any weight.",
                        "यहाँ softmax के बाद शून्य करने पर भी पंक्तियों का योग एक है, क्योंकि आगे के "
                        "किसी शब्द को भार मिला ही नहीं था।",
                    )
                ),
                table(
                    say("zeroed after the softmax", "softmax के बाद शून्य किए गए"),
                    self.zeroed,
                    names,
                    names,
                    kind="weights",
                ),
                table("", self.zeroed_sums[:, None], (), (total,), kind="weights"),
                Words(
                    say(
                        "With −∞ there before the softmax each row shares its whole weight among "
                        "the words that have been said. The scores then are:",
                        "softmax से पहले वहाँ −∞ रखने पर हर पंक्ति अपना पूरा भार कहे जा चुके शब्दों में "
                        "ही बाँटती है। तब अंक ये हैं:",
                    )
                ),
                table(say("scores", "अंक"), self.hidden, names, names, after="→"),
                table(
                    say("masked before the softmax", "softmax से पहले मास्क"),
                    self.masked,
                    names,
                    names,
                    kind="weights",
                ),
                table("", self.masked_sums[:, None], (), (total,), kind="weights"),
            ),
        )

    def _scores(self, say: Say) -> tuple[Table, ...]:
        """The scores without a mask, if all are numbers: a weight of 0 has a score of −∞."""
        if not self.scores.isfinite().all():
            return ()
        return (table(say("scores", "अंक"), self.scores, self.words, self.words, after="→"),)


def mask(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    weights: Matrix | None = None,
    scores: Matrix | None = None,
) -> Mask:
    """What each word may look at, from its row of weights or of scores without a mask.

    Scores of given weights are their logarithms, of which the softmax makes the weights again.

    >>> [round(one, 3) for one in mask().masked[1].tolist()]
    [0.6, 0.4, 0.0]
    """
    words = words_of(sentence)
    if weights is not None and scores is not None:
        raise UserError("weights and scores were given: give one of them, the other follows")
    size, of = len(words), f"the words of {' '.join(words)!r}"
    if scores is not None:
        found = matrix("scores", scores, rows=size, columns=size, of=of)
    else:
        given = WEIGHTS if weights is None else weights
        found = _shares(matrix("weights", given, rows=size, columns=size, of=of)).log()
    future = torch.ones(size, size, dtype=torch.bool).triu(1)
    every = found.softmax(-1)
    zeroed = every.masked_fill(future, 0.0)
    hidden = found.masked_fill(future, -torch.inf)
    masked = hidden.softmax(-1)
    return Mask(words, found, every, zeroed, zeroed.sum(-1), hidden, masked, masked.sum(-1))


def _shares(weights: Float64[Tensor, "T T"]) -> Float64[Tensor, "T T"]:
    """Weights whose every row can be one of a softmax, with something left for the past."""
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
