"""A word as a mixture of its sentence: given weights, weighted sums, and a word that differs."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.given import Matrix, matrix, words_of
from dhyan.lessons.self_attention.space import VECTORS, Vectors, vectors_of
from dhyan.lessons.shown import Say, Shown, Story

SENTENCE, OTHER = "money bank grows", "river bank flows"
WEIGHTS = ((0.7, 0.2, 0.1), (0.25, 0.7, 0.05), (0.1, 0.2, 0.7))
OTHER_WEIGHTS = ((0.8, 0.15, 0.05), (0.2, 0.78, 0.02), (0.4, 0.01, 0.59))


@dataclass(frozen=True)
class Mixture:
    """One sentence: its weights, its words' vectors, and what the weights make of them."""

    words: tuple[str, ...]
    weights: Float64[Tensor, "T T"]
    sums: Float64[Tensor, " T"]
    vectors: Float64[Tensor, "T D"]
    mixed: Float64[Tensor, "T D"]

    def parts(self, say: Say) -> tuple[Part, ...]:
        """The sentence, and its weights times its vectors."""
        names = self.words
        return (
            Words(f"“{' '.join(names)}”"),
            table(
                say("weights", "भार"),
                self.weights,
                names,
                names,
                kind="weights",
                after="·",
            ),
            table(say("vectors", "सदिश"), self.vectors, names, after="="),
            table(say("mixtures", "मिश्रण"), self.mixed, names, digits=3),
        )


@dataclass(frozen=True)
class Mixing(Shown):
    """Two sentences, and how far apart the words they share have come."""

    first: Mixture
    second: Mixture
    shared: tuple[str, ...]
    differences: Float64[Tensor, "N D"]
    distances: Float64[Tensor, " N"]

    def story(self, say: Say) -> Story:
        """One sentence, the other, and the word they share."""
        return Story(
            say("A word as a mixture of its sentence", "शब्द, अपने वाक्य का मिश्रण"),
            (
                Words(
                    say(
                        "Each row of weights says how much of every word goes into the new vector "
                        "of one word; a row sums to 1. The new vector is the weighted sum of the "
                        "old ones. The weights are given here, not computed.",
                        "भारों की हर पंक्ति बताती है कि एक शब्द के नए सदिश में हर शब्द का कितना भाग "
                        "है; पंक्ति का योग 1 है। नया सदिश पुराने सदिशों का भारित योग है। यहाँ भार "
                        "दिए गए हैं, निकाले नहीं गए।",
                    )
                ),
                *self.first.parts(say),
                *self.second.parts(say),
                Words(self._compared(say)),
            ),
        )

    def _compared(self, say: Say) -> str:
        if not self.shared:
            return say(
                "The two sentences share no word, so there is nothing to compare.",
                "दोनों वाक्यों में कोई शब्द साझा नहीं है, इसलिए तुलना के लिए कुछ नहीं है।",
            )
        return " ".join(
            self._apart(say, word, float(far))
            for word, far in zip(self.shared, self.distances, strict=True)
        )

    def _apart(self, say: Say, word: str, far: float) -> str:
        if far < 1e-12:
            return say(
                f"“{word}” has the same mixture in both sentences.",
                f"“{word}” का मिश्रण दोनों वाक्यों में एक ही है।",
            )
        return say(
            f"“{word}” had one vector; it now has two, {far:.3f} apart.",
            f"“{word}” का एक सदिश था; अब दो हैं, जिनके बीच की दूरी {far:.3f} है।",
        )


def mixing(
    sentence: str | Sequence[str] = SENTENCE,
    other: str | Sequence[str] = OTHER,
    *,
    weights: Matrix = WEIGHTS,
    other_weights: Matrix = OTHER_WEIGHTS,
    vectors: Vectors = VECTORS,
) -> Mixing:
    """Mix the words of two sentences by given weights, and compare the words they share.

    >>> mixing().first.mixed[1].tolist()
    [7.0, 4.25]
    """
    first = _mixture("weights", words_of(sentence), weights, vectors)
    second = _mixture("other_weights", words_of(other), other_weights, vectors)
    if first.mixed.shape[1] != second.mixed.shape[1]:
        raise UserError("vectors: those of the two sentences differ in length; give all the same")
    shared = tuple(word for word in dict.fromkeys(first.words) if word in second.words)
    places = [(first.words.index(word), second.words.index(word)) for word in shared]
    here, there = ([pair[side] for pair in places] for side in (0, 1))
    differences = second.mixed[there] - first.mixed[here]
    return Mixing(first, second, shared, differences, differences.norm(dim=1))


def _mixture(name: str, words: tuple[str, ...], given: Matrix, vectors: Vectors) -> Mixture:
    of = f"the words of {' '.join(words)!r}"
    weights = matrix(name, given, rows=len(words), columns=len(words), of=of)
    sums = weights.sum(1)
    if (weights < 0).any():
        raise UserError(f"{name}: has a weight below 0; a share of a word is 0 or more")
    wrong = (sums - 1).abs() > 1e-6
    if wrong.any():
        row = int(wrong.to(torch.int8).argmax())
        raise UserError(
            f"{name}: the row of {words[row]!r} sums to {sums[row]:.4g}; make it sum to 1"
        )
    own = vectors_of(words, vectors)
    return Mixture(words, weights, sums, own, weights @ own)
