"""Self-attention without parameters: Y = softmax(X Xᵀ) X, all words in one go."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import plain
from dhyan.insight.blocks import Words, table
from dhyan.lessons.given import whole, wholes, words_of
from dhyan.lessons.self_attention.space import TENTHS, Vectors, vectors_of
from dhyan.lessons.shown import Say, Shown, Story

SENTENCE = "money bank grows"
LENGTHS, WIDTH, REPEATS = (3, 30, 300), 64, 7


@dataclass(frozen=True)
class ParameterFree(Shown):
    """Scores, what they alone would make, weights, outputs; and how long many words take."""

    words: tuple[str, ...]
    vectors: Float64[Tensor, "T D"]
    scores: Float64[Tensor, "T T"]
    without_softmax: Float64[Tensor, "T D"]
    weights: Float64[Tensor, "T T"]
    outputs: Float64[Tensor, "T D"]
    parameters: int
    lengths: tuple[int, ...]
    at_once: tuple[float, ...]
    one_by_one: tuple[float, ...]
    differences: tuple[float, ...]

    @property
    def shapes(self) -> str:
        """The three matrices that are multiplied."""
        count, width = self.vectors.shape
        return f"({count}×{width})({width}×{count})({count}×{width})"

    def story(self, say: Say) -> Story:
        """First the dot products alone, then the softmax, then the clock."""
        names = self.words
        micro = [[1e6 * one for one in row] for row in (self.at_once, self.one_by_one)]
        ways = (say("in one go", "एक साथ"), say("one by one", "एक-एक करके"))
        columns = [say(f"{n} words", f"{n} शब्द") for n in self.lengths]
        return Story(
            say("Self-attention without parameters", "बिना प्राचलों का स्व-अवधान"),
            (
                Words(
                    say(
                        "How much of one word goes into another is their dot product. Used as it "
                        "is, e_b(new) = [e_b·e_m] e_m + [e_b·e_b] e_b + …, and the shares add up "
                        "to anything.",
                        "एक शब्द दूसरे में कितना जाए, यह उनके अदिश गुणनफल से तय होता है। उसे वैसा ही "
                        "लें तो e_b(नया) = [e_b·e_m] e_m + [e_b·e_b] e_b + …, और हिस्सों का योग कुछ "
                        "भी हो सकता है।",
                    )
                ),
                table("X", self.vectors, names),
                table("X Xᵀ", self.scores, names, names, after="→"),
                table("(X Xᵀ) X", self.without_softmax, names, digits=3),
                Words(
                    say(
                        f"The softmax makes each row sum to 1: Y = softmax(X Xᵀ) X, shapes "
                        f"{self.shapes}. Parameters: {self.parameters}, so this mixing has nothing "
                        "to learn, whatever the task; the vectors X may be learned.",
                        f"softmax से हर पंक्ति का योग 1 हो जाता है: Y = softmax(X Xᵀ) X, आकार "
                        f"{self.shapes}। प्राचल: {self.parameters}, इसलिए इस मिश्रण में सीखने को "
                        "कुछ नहीं, काम चाहे जो हो; सदिश X सीखे हुए हो सकते हैं।",
                    )
                ),
                table(
                    "softmax(X Xᵀ)", self.weights, names, names, kind="weights", digits=3, after="→"
                ),
                table("softmax(X Xᵀ) X", self.outputs, names, digits=3),
                Words(say("The time for more words.", "शब्द बढ़ने पर लगने वाला समय।")),
                table(say("microseconds", "माइक्रोसेकंड"), micro, ways, columns, digits=0),
                Words(self._timed(say)),
            ),
        )

    def _timed(self, say: Say) -> str:
        count, ratio = self.lengths[-1], self.one_by_one[-1] / self.at_once[-1]
        most = max(self.differences)
        same = say(
            f"Both ways give the same vectors (largest difference {most:.0e}): no word waits "
            "for another.",
            f"दोनों तरीक़ों से सदिश एक ही आते हैं (सबसे बड़ा अंतर {most:.0e}): कोई शब्द दूसरे की "
            "प्रतीक्षा नहीं करता।",
        )
        if ratio > 1:
            pace = say(
                f"Here {count} words in one go were {ratio:.1f} times as fast as one by one.",
                f"यहाँ {count} शब्द एक साथ लेना, एक-एक करके लेने से {ratio:.1f} गुना तेज़ रहा।",
            )
        else:
            pace = say(
                f"Here {count} words in one go were no faster than one by one ({ratio:.2f}×).",
                f"यहाँ {count} शब्द एक साथ लेना, एक-एक करके लेने से तेज़ नहीं रहा ({ratio:.2f}×)।",
            )
        return f"{same} {pace}"


def parameter_free(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    vectors: Vectors = TENTHS,
    lengths: Sequence[int] = LENGTHS,
    width: int = WIDTH,
    seed: int = 1,
) -> ParameterFree:
    """Mix every word by its dot products with all; then time sentences of these `lengths`.

    >>> parameter_free().parameters
    0
    """
    words = words_of(sentence)
    counts, width, seed = (
        wholes("lengths", lengths),
        whole("width", width),
        whole("seed", seed, least=0),
    )
    x = vectors_of(words, vectors)
    scores = x @ x.T
    timed = [_timed(count, width, seed) for count in counts]
    at_once, one_by_one, differences = (tuple(row[part] for row in timed) for part in range(3))
    weights = scores.softmax(-1)
    return ParameterFree(
        words=words,
        vectors=x,
        scores=scores,
        without_softmax=scores @ x,
        weights=weights,
        outputs=weights @ x,
        parameters=sum(weight.numel() for weight in plain().parameters()),
        lengths=counts,
        at_once=at_once,
        one_by_one=one_by_one,
        differences=differences,
    )


def all_at_once(x: Float64[Tensor, "T D"]) -> Float64[Tensor, "T D"]:
    """Every word asks in one product of matrices."""
    return (x @ x.T).softmax(-1) @ x


def word_by_word(x: Float64[Tensor, "T D"]) -> Float64[Tensor, "T D"]:
    """One word asks after the other."""
    return torch.stack([(x @ word).softmax(0) @ x for word in x])


def _timed(count: int, width: int, seed: int) -> tuple[float, float, float]:
    """Seconds in one go and one by one, the middle of several; and how much the results differ."""
    chance = torch.Generator().manual_seed(seed)
    x = torch.randn(count, width, generator=chance, dtype=torch.float64) / width**0.5
    difference = (all_at_once(x) - word_by_word(x)).abs().max()
    return _seconds(all_at_once, x), _seconds(word_by_word, x), float(difference)


def _seconds(way: Callable[[Tensor], Tensor], x: Tensor) -> float:
    taken = []
    for _ in range(REPEATS):
        start = perf_counter()
        way(x)
        taken.append(perf_counter() - start)
    return median(taken)
