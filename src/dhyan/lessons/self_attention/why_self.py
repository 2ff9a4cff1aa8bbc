"""Why "attention", and why "self": Luong's three steps, across two sequences and within one."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Kind, Part, Words, table
from dhyan.lessons.given import Matrix, matrix, whole, words_of
from dhyan.lessons.shown import Say, Shown, Story

SENTENCE, TARGET = "turn off the lights", "लाइट बंद करो"
STATES = ((2, 0, 0), (1, 2, 0), (0, 0, 1), (0, 1, 2))
TARGET_STATES = ((0, 0, 2), (0, 2, -1), (2, -1, 0))


@dataclass(frozen=True)
class Steps:
    """Align, softmax, weighted sum."""

    asking: tuple[str, ...]
    answering: tuple[str, ...]
    scores: Float64[Tensor, "T S"]
    weights: Float64[Tensor, "T S"]
    contexts: Float64[Tensor, "T D"]


def three_steps(
    asking: tuple[str, ...],
    answering: tuple[str, ...],
    queries: Float64[Tensor, "T D"],
    states: Float64[Tensor, "S D"],
) -> Steps:
    """Luong et al. (2015), dot: e_ij = s_i · h_j, α_i = softmax(e_i), c_i = Σ α_ij h_j."""
    scores = queries @ states.T
    weights = scores.softmax(-1)
    return Steps(asking, answering, scores, weights, weights @ states)


@dataclass(frozen=True)
class WhySelf(Shown):
    """The states of both sequences, and the three steps across them and within the first."""

    states: Float64[Tensor, "S D"]
    target_states: Float64[Tensor, "T D"]
    across: Steps
    within: Steps

    def story(self, say: Say) -> Story:
        """Every step twice, side by side."""
        return Story(
            say("Why “self”, why “attention”", "“स्व” क्यों, “अवधान” क्यों"),
            (
                Words(
                    say(
                        "Attention is three steps: align, softmax, weighted sum. Luong's decoder "
                        "state s_i asks the encoder's states h_j, which are key and value. Let "
                        "the asking states be those of the sentence itself, and the same function "
                        "is self-attention. Each step stands here twice: across, then within.",
                        "अवधान के तीन चरण हैं: मिलान, softmax, भारित योग। लुओंग में डिकोडर की "
                        "अवस्था s_i एनकोडर की अवस्थाओं h_j से पूछती है; वे ही कुंजी और मान हैं। "
                        "यदि पूछने वाली अवस्थाएँ उसी वाक्य की हों, तो वही फलन स्व-अवधान है। "
                        "हर चरण यहाँ दो बार है: पहले दो अनुक्रमों के बीच, फिर एक के भीतर।",
                    )
                ),
                table(
                    say("s, states that ask", "s, पूछने वाली अवस्थाएँ"),
                    self.target_states,
                    self.across.asking,
                ),
                table(
                    say("h, states that answer", "h, उत्तर देने वाली अवस्थाएँ"),
                    self.states,
                    self.across.answering,
                ),
                *self._step(
                    say,
                    say(
                        "1. Align: s_i · h_j, and h_i · h_j.", "1. मिलान: s_i · h_j, और h_i · h_j।"
                    ),
                    "scores",
                ),
                *self._step(
                    say,
                    say(
                        "2. Softmax: α_ij, each row sums to 1.",
                        "2. softmax: α_ij, हर पंक्ति का योग 1।",
                    ),
                    "weights",
                ),
                *self._step(
                    say,
                    say("3. Weighted sum: Σ α_ij h_j.", "3. भारित योग: Σ α_ij h_j।"),
                    "contexts",
                ),
                Words(f"{self._across(say)} {self._within(say)}"),
            ),
        )

    def _step(self, say: Say, name: str, which: str) -> tuple[Part, ...]:
        """A step across, and the same within."""
        kind: Kind = "weights" if which == "weights" else "numbers"
        across = say("across", "दो अनुक्रमों के बीच")
        within = say("within", "एक के भीतर")
        return (
            Words(name),
            *(
                table(
                    title,
                    getattr(one, which),
                    one.asking,
                    one.answering if which != "contexts" else (),
                    kind=kind,
                )
                for one, title in ((self.across, across), (self.within, within))
            ),
        )

    def _across(self, say: Say) -> str:
        looked = self.across.weights.argmax(1).tolist()
        pairs = zip(self.across.asking, (self.across.answering[at] for at in looked), strict=True)
        shown = ", ".join(f"{one} → {other}" for one, other in pairs)
        return say(
            f"Across, each word looks most at: {shown}.",
            f"दो अनुक्रमों के बीच, हर शब्द सबसे अधिक किसे देखता है: {shown}।",
        )

    def _within(self, say: Say) -> str:
        own = sum(at == most for at, most in enumerate(self.within.weights.argmax(1).tolist()))
        count = len(self.within.asking)
        return say(
            f"Within, {own} of {count} words look most at themselves.",
            f"एक के भीतर, {count} में से {own} शब्द सबसे अधिक स्वयं को "
            f"{'देखता है' if own == 1 else 'देखते हैं'}।",
        )


def why_self(
    sentence: str | Sequence[str] = SENTENCE,
    target: str | Sequence[str] = TARGET,
    *,
    states: Matrix | None = None,
    target_states: Matrix | None = None,
    width: int = 3,
    seed: int = 1,
) -> WhySelf:
    """The three steps with the target's states asking, and with the sentence's own.

    States of other sentences that are not given are drawn from the seed.
    """
    answering, asking = words_of(sentence), words_of(target)
    if (answering, asking) == (words_of(SENTENCE), words_of(TARGET)):
        states = STATES if states is None else states
        target_states = TARGET_STATES if target_states is None else target_states
    width, seed = whole("width", width), whole("seed", seed, least=0)
    h = _states("states", states, answering, width, seed)
    s = _states("target_states", target_states, asking, h.shape[1], seed + 1)
    if s.shape[1] != h.shape[1]:
        raise UserError(
            f"target_states: have {s.shape[1]} numbers and states {h.shape[1]}: "
            "a dot product needs as many on both sides"
        )
    return WhySelf(
        h, s, three_steps(asking, answering, s, h), three_steps(answering, answering, h, h)
    )


def _states(
    name: str, given: Matrix | None, words: tuple[str, ...], width: int, seed: int
) -> Float64[Tensor, "N D"]:
    if given is None:
        chance = torch.Generator().manual_seed(seed)
        return torch.randn(len(words), width, generator=chance, dtype=torch.float64)
    return matrix(name, given, rows=len(words), of=f"the words of {' '.join(words)!r}")
