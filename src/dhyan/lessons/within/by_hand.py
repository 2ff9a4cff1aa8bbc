"""Self-attention with every matrix written out: X W_q, X W_k, X W_v, Q Kᵀ, /√dk, softmax, · V."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.faults import Fault
from dhyan.insight.parts import Words, table
from dhyan.lessons.given import Matrix, matrix, words_of
from dhyan.lessons.shown import Say, Shown, Story

SENTENCE = "The cat sat"
EMBEDDINGS = ((1, 0, 1, 0), (0, 1, 0, 1), (1, 1, 1, 1))


@dataclass(frozen=True)
class ByHand(Shown):
    """Every matrix on the way from the words' vectors to their mixtures."""

    words: tuple[str, ...]
    embeddings: Float64[Tensor, "T D"]
    queries: Float64[Tensor, "T K"]
    keys: Float64[Tensor, "T K"]
    values: Float64[Tensor, "T V"]
    scores: Float64[Tensor, "T T"]
    scaled: Float64[Tensor, "T T"]
    weights: Float64[Tensor, "T T"]
    outputs: Float64[Tensor, "T V"]

    def story(self, say: Say) -> Story:
        """From left to right, as one computes it."""
        names, width = self.words, self.queries.shape[1]
        return Story(
            say("Self-attention by hand", "स्व-अवधान, हाथ से"),
            (
                Words(
                    say(
                        "Each word's vector x asks (q = x W_q), is asked (k = x W_k) and answers "
                        "(v = x W_v). Its scores with all keys, over the root of their width, "
                        "become weights that sum to one; by them the values are mixed.",
                        "हर शब्द का सदिश x पूछता है (q = x W_q), उससे पूछा जाता है (k = x W_k) और "
                        "वह उत्तर देता है (v = x W_v)। सब कुंजियों के साथ उसके अंक, कुंजियों की चौड़ाई "
                        "के वर्गमूल से भाग देने पर, ऐसे भार बनते हैं जिनका योग एक है; इन्हीं भारों से "
                        "मान मिलाए जाते हैं।",
                    )
                ),
                table("X", self.embeddings, names),
                table("Q = X W_q", self.queries, names),
                table("K = X W_k", self.keys, names),
                table("V = X W_v", self.values, names),
                table("Q Kᵀ", self.scores, names, names, after="→"),
                table(f"Q Kᵀ / √{width}", self.scaled, names, names, after="→"),
                table(say("weights", "भार"), self.weights, names, names, kind="weights", digits=3),
                table(say("outputs", "आउटपुट"), self.outputs, names, digits=3),
            ),
        )


def by_hand(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    embeddings: Matrix = EMBEDDINGS,
    w_query: Matrix | None = None,
    w_key: Matrix | None = None,
    w_value: Matrix | None = None,
    scale: bool = True,
) -> ByHand:
    """Attention within a sentence, from a vector for each word; a matrix not given changes nothing.

    >>> by_hand(scale=False).scores.tolist()
    [[2.0, 0.0, 2.0], [0.0, 2.0, 2.0], [2.0, 2.0, 4.0]]
    """
    words = words_of(sentence)
    x = matrix("embeddings", embeddings, rows=len(words), of=f"the words of {' '.join(words)!r}")
    width = x.shape[1]
    unit = torch.eye(width, dtype=torch.float64)
    given = {"w_query": w_query, "w_key": w_key, "w_value": w_value}
    maps = {
        name: unit if one is None else matrix(name, one, rows=width, of="the numbers of a vector")
        for name, one in given.items()
    }
    queries, keys, values = (x @ one for one in maps.values())
    if queries.shape != keys.shape:
        raise Fault(
            f"queries have {queries.shape[1]} numbers and keys {keys.shape[1]}: "
            "w_query and w_key must be equally wide"
        )
    scores = queries @ keys.T
    scaled = scores / keys.shape[1] ** 0.5 if scale else scores
    weights = scaled.softmax(-1)
    return ByHand(words, x, queries, keys, values, scores, scaled, weights, weights @ values)
