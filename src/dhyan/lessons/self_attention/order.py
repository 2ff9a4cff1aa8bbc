"""Attention is blind to order: the words change places, their outputs change places with them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import Attention, MultiHeadAttention, plain
from dhyan.errors import UserError
from dhyan.insight.blocks import Words, table
from dhyan.lessons.given import whole, words_of
from dhyan.lessons.self_attention.space import Vectors, vectors_of
from dhyan.lessons.shown import Say, Shown, Story
from dhyan.models.positions import Sinusoids

SENTENCE = "dog bites man"
HEADS, NOTHING = 2, 1e-9


@dataclass(frozen=True)
class Order(Shown):
    """Outputs in both orders, the second put back in the first's order before it is compared.

    `differences` are the largest |Δ|: a row for attention without parameters and one for heads
    with fresh matrices, a column without positions and one with them.
    """

    words: tuple[str, ...]
    other: tuple[str, ...]
    places: tuple[int, ...]
    vectors: Float64[Tensor, "T D"]
    positions: Float64[Tensor, "T D"]
    outputs: Float64[Tensor, "T D"]
    other_outputs: Float64[Tensor, "T D"]
    placed: Float64[Tensor, "T D"]
    other_placed: Float64[Tensor, "T D"]
    differences: Float64[Tensor, "2 2"]

    def story(self, say: Say) -> Story:
        """Without positions, with them, and the differences."""
        here, there = " ".join(self.words), " ".join(self.other)
        rows = (
            say("softmax(X Xᵀ) X", "softmax(X Xᵀ) X"),
            say("heads with W_q, W_k, W_v", "W_q, W_k, W_v वाले हेड"),
        )
        columns = (say("without positions", "स्थान के बिना"), say("with positions", "स्थान सहित"))
        return Story(
            say("Attention is blind to order", "अवधान को क्रम नहीं दिखता"),
            (
                Words(
                    say(
                        f"The same words in two orders: “{here}” and “{there}”. Each table has a "
                        "row for every word of its sentence.",
                        f"वही शब्द, दो क्रमों में: “{here}” और “{there}”। हर सारणी में उसके वाक्य "
                        "के हर शब्द की एक पंक्ति है।",
                    )
                ),
                table(say("outputs, first order", "आउटपुट, पहला क्रम"), self.outputs, self.words),
                table(
                    say("outputs, second order", "आउटपुट, दूसरा क्रम"), self.other_outputs, self.other
                ),
                table(
                    say("with positions, first order", "स्थान सहित, पहला क्रम"),
                    self.placed,
                    self.words,
                ),
                table(
                    say("with positions, second order", "स्थान सहित, दूसरा क्रम"),
                    self.other_placed,
                    self.other,
                ),
                table(
                    say("largest |Δ| of a word", "किसी शब्द का सबसे बड़ा |Δ|"),
                    self.differences,
                    rows,
                    columns,
                    digits=4,
                ),
                Words(f"{self._blind(say)} {self._cured(say)}".strip()),
            ),
        )

    def _blind(self, say: Say) -> str:
        most = float(self.differences[:, 0].max())
        if self.words == self.other:
            return ""
        if most < NOTHING:
            return say(
                f"Without positions every word has the same output in both orders ({most:.0e} "
                "apart, the rounding of the computer): attention sees a bag of words.",
                f"स्थान के बिना हर शब्द का आउटपुट दोनों क्रमों में एक ही है (अंतर {most:.0e}, जो "
                "कंप्यूटर का पूर्णांकन है): अवधान को केवल शब्दों का थैला दिखता है।",
            )
        return say(
            f"Without positions outputs differ by up to {most:.4f}.",
            f"स्थान के बिना आउटपुट में {most:.4f} तक का अंतर है।",
        )

    def _cured(self, say: Say) -> str:
        least = float(self.differences[:, 1].min())
        if len(set(self.words)) == 1:
            return say(
                "One word has no other order, so nothing is shown here: give two or more.",
                "एक ही शब्द का कोई दूसरा क्रम नहीं होता, इसलिए यहाँ कुछ नहीं दिखता: दो या अधिक शब्द दीजिए।",
            )
        if self.words == self.other:
            return say(
                "Both orders are the same, so nothing is shown here: give another order.",
                "दोनों क्रम एक ही हैं, इसलिए यहाँ कुछ नहीं दिखता: कोई दूसरा क्रम दीजिए।",
            )
        if least > NOTHING:
            return say(
                "With the vector of its place added to each word, the order counts.",
                "हर शब्द में उसके स्थान का सदिश जोड़ने पर क्रम का प्रभाव पड़ता है।",
            )
        return say(
            "Even with positions added, no output tells the two orders apart.",
            "स्थान जोड़ने पर भी किसी आउटपुट से दोनों क्रम अलग नहीं पहचाने जाते।",
        )


def order(
    sentence: str | Sequence[str] = SENTENCE,
    other: str | Sequence[str] | None = None,
    *,
    vectors: Vectors | None = None,
    width: int = 6,
    seed: int = 1,
) -> Order:
    """Attention over the same words in two orders; `other` is the sentence backwards if not given.

    Vectors that are not given are drawn from the seed, one for each different word.
    """
    words = words_of(sentence)
    turned = tuple(reversed(words)) if other is None else words_of(other)
    places, width, seed = (
        _places(words, turned),
        whole("width", width),
        whole("seed", seed, least=0),
    )
    x = _drawn(words, width, seed) if vectors is None else vectors_of(words, vectors)
    positions = Sinusoids(x.shape[1])(0, len(words)).double()
    asked = [x, x[places], x + positions, x[places] + positions]
    outputs, other_outputs, placed, other_placed = (_attended(plain(), one) for one in asked)
    heads = _heads(x.shape[1], seed)
    by_heads = [_attended(heads, one) for one in asked]
    pairs = (outputs, other_outputs), (placed, other_placed), by_heads[:2], by_heads[2:]
    differences = [(there - here[places]).abs().max() for here, there in pairs]
    return Order(
        words,
        turned,
        tuple(places),
        x,
        positions,
        outputs,
        other_outputs,
        placed,
        other_placed,
        torch.stack(differences).unflatten(0, (2, 2)),
    )


def _places(words: tuple[str, ...], turned: tuple[str, ...]) -> list[int]:
    """For each word of the other order, where it stands in the first."""
    if Counter(words) != Counter(turned):
        raise UserError(f"other: {' '.join(turned)!r} is not {' '.join(words)!r} in another order")
    left = {word: [at for at, one in enumerate(words) if one == word] for word in words}
    return [left[word].pop(0) for word in turned]


def _drawn(words: tuple[str, ...], width: int, seed: int) -> Float64[Tensor, "T D"]:
    kinds = list(dict.fromkeys(words))
    chance = torch.Generator().manual_seed(seed)
    table_of = torch.randn(len(kinds), width, generator=chance, dtype=torch.float64)
    return table_of[[kinds.index(word) for word in words]]


def _heads(width: int, seed: int) -> MultiHeadAttention:
    """Heads with fresh weights; what else is random stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MultiHeadAttention(width, HEADS if width % HEADS == 0 else 1).double()


@torch.no_grad()
def _attended(attention: Attention, x: Float64[Tensor, "T D"]) -> Float64[Tensor, "T D"]:
    states = x.unsqueeze(0)
    real = torch.ones(states.shape[:2], dtype=torch.bool)
    return attention(states, attention.remember(states, real)).context[0]
