"""Why the scores are divided by √dk: variance, saturation, and gradients in a real training."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Lines, Part, Words, table
from dhyan.lessons.given import Matrix, matrix, row, whole, wholes
from dhyan.lessons.self_attention.saturation import Spread, spread
from dhyan.lessons.self_attention.unscaled import Course, Hear, course
from dhyan.lessons.shown import Say, Shown, Story

WIDTHS = (1, 16, 32, 48, 64, 80, 96, 112, 128)
NUMBERS, PAIRS = (10, 20, 30, 40, 50, 60, 70), ((6, 4), (3, 2), (4, 5), (1, 10))
WIDE, NARROW, DRAWS = 64, 16, 2000
MUCH, ALL = 2.0, 100.0  # how many times smaller or larger a gradient is called so, or gone
CLEAR = 0.05  # a difference between two shares of one seed that is told as one


@dataclass(frozen=True)
class Scaled(Shown):
    """Variances, softmaxes of pairs, four runs: wide with √dk and without, narrow without and with.

    `free_values` are how many queries there are, how wide, and how wide their answers come out.
    """

    spread: Spread
    numbers: Float64[Tensor, " N"]
    divide_by: float
    variance: float
    divided_variance: float
    pairs: Float64[Tensor, "P C"]
    softmaxed: Float64[Tensor, "P C"]
    free_values: tuple[int, int, int]
    runs: tuple[Course, ...]

    def story(self, say: Say) -> Story:
        """The spread of dot products, the softmax, the training."""
        names = [f"({', '.join(f'{one:g}' for one in pair)})" for pair in self.pairs.tolist()]
        return Story(
            say("Why divide by √dk", "√dk से भाग क्यों देते हैं"),
            (
                Words(self._spreads(say)),
                self._variances(say),
                table(
                    say("softmax of a pair", "युग्म का softmax"),
                    self.softmaxed,
                    names,
                    kind="weights",
                    digits=4,
                ),
                Words(self._divided(say)),
                *self._training(say),
            ),
        )

    def _variances(self, say: Say) -> Lines:
        raw, scaled = self.spread.variances.tolist()
        return Lines(
            say("variance of the scores, by their width", "अंकों का प्रसरण, चौड़ाई के अनुसार"),
            (Curve("q·k", raw), Curve("q·k/√dk", scaled)),
            tuple(map(str, self.spread.widths)),
            "dk",
            say("variance", "प्रसरण"),
        )

    def _spreads(self, say: Say) -> str:
        low, high = self.spread.per_width
        least, most = (float(one) for one in self.spread.variances[1].aminmax())
        widest, (raw, scaled) = self.spread.widths[-1], self.spread.largest[:, -1].tolist()
        steep, mild = self.spread.slopes[:, -1].tolist()
        linear = (
            say("so it grows linearly with dk", "यानी वह dk के साथ रैखिक रूप से बढ़ता है")
            if low > 0.8 and high < 1.25
            else say("so it is not linear in dk here", "यानी यहाँ वह dk में रैखिक नहीं है")
        )
        return say(
            f"Var(q·k)/dk, measured, lies between {low:.2f} and {high:.2f}, {linear}; the variance "
            f"over √dk between {least:.2f} and {most:.2f}. At dk = {widest} the largest of eight "
            f"weights is {raw:.2f} on average and the slope of the softmax {steep:.2f}; over √dk "
            f"they are {scaled:.2f} and {mild:.2f}.",
            f"मापने पर Var(q·k)/dk {low:.2f} और {high:.2f} के बीच है, {linear}; √dk से भाग देने पर "
            f"प्रसरण {least:.2f} और {most:.2f} के बीच है। dk = {widest} पर आठ भारों में सबसे बड़ा "
            f"औसतन {raw:.2f} है और softmax की ढाल {steep:.2f}; √dk से भाग देने पर {scaled:.2f} और "
            f"{mild:.2f}।",
        )

    def _divided(self, say: Say) -> str:
        first, last = (f"{float(self.numbers[at]):g}" for at in (0, -1))
        by, (count, key, value) = f"{self.divide_by:g}", self.free_values
        return say(
            f"Var(aX) = a² Var(X): the numbers {first} … {last} have variance {self.variance:g}, "
            f"divided by {by} they have {self.divided_variance:g}. Only dq = dk is needed: {count} "
            f"queries and keys {key} wide with values {value} wide give {count}×{value}.",
            f"Var(aX) = a² Var(X): संख्याओं {first} … {last} का प्रसरण {self.variance:g} है, {by} से "
            f"भाग देने पर {self.divided_variance:g}। केवल dq = dk चाहिए: चौड़ाई {key} के {count} प्रश्न "
            f"और कुंजियाँ, और चौड़ाई {value} के मान, {count}×{value} देते हैं।",
        )

    def _training(self, say: Say) -> tuple[Part, ...]:
        runs = self.runs
        if not runs:
            return ()
        names = [f"dk {run.key_width}{', √dk' if run.scaled else ''}" for run in runs]
        places = tuple(map(str, runs[0].steps))
        step = say("step", "चरण")
        charts = {
            "losses": (
                say("training loss", "प्रशिक्षण की हानि"),
                say("nats per word", "नैट प्रति शब्द"),
            ),
            "through": (
                say("gradient through the softmax", "softmax से होकर आई प्रवणता"),
                say("norm at the scores", "अंकों पर नॉर्म"),
            ),
            "weights": (
                say("gradient of W_q and W_k", "W_q और W_k की प्रवणता"),
                say("norm", "नॉर्म"),
            ),
        }
        columns = {
            say("% of unseen words", "अनदेखे शब्द, % सही"): [100 * run.right for run in runs],
            say("loss", "हानि"): [run.loss for run in runs],
            say("top weight", "सबसे बड़ा भार"): [run.largest[-1] for run in runs],
            say("high gradient", "ऊँची प्रवणता"): [run.most for run in runs],
        }
        return (
            Words(self._claims(say)),
            *(
                Lines(title, tuple(map(Curve, names, self._of(which))), places, step, up)
                for which, (title, up) in charts.items()
            ),
            Words(say("After training.", "प्रशिक्षण के बाद।")),
            *(
                table(title, [[one] for one in column], () if number else names)
                for number, (title, column) in enumerate(columns.items())
            ),
        )

    def _of(self, which: str) -> list[tuple[float, ...]]:
        return [getattr(run, which) for run in self.runs]

    def _claims(self, say: Say) -> str:
        """What the runs say of vanishing, of exploding, and of a smaller width."""
        one, other, _, _ = self.runs
        late, most = other.late / one.late, other.most / one.most
        vanishing = _verdict(
            1 / late,
            say("so it vanishes", "यानी वह लुप्त होती है"),
            say("so it is smaller, but does not vanish", "यानी वह छोटी है, पर लुप्त नहीं होती"),
            say("so it does not vanish", "यानी वह लुप्त नहीं होती"),
        )
        begin, end = other.through[0], other.through[-1]
        way = (
            say("grows", "बढ़ती है")
            if end > begin
            else say("falls", "घटती है")
            if end < begin
            else say("stays", "वही रहती है")
        )
        exploding = _verdict(
            most,
            say("so it explodes", "यानी वह विस्फोटक हो जाती है"),
            say(
                "so it jumps higher, without exploding", "यानी वह अधिक उछलती है, पर विस्फोटक नहीं होती"
            ),
            say("so it does not explode", "यानी वह विस्फोटक नहीं होती"),
        )
        return say(
            f"A Transformer of one head (dk {one.key_width}) learns to reverse letters, from one "
            "seed. Without √dk, in the second half of the run, the gradient that comes through the "
            f"softmax is {late:.2f} times as large as with √dk, {vanishing}; within the run it "
            f"{way} ({begin:.2g} → {end:.2g}). The gradient of W_q and W_k that one step in twenty "
            f"exceeds is {most:.2f} times as large, {exploding}. {self._widths(say)}",
            f"एक हेड वाला Transformer (dk {one.key_width}) अक्षर उलटना सीखता है, केवल एक बीज (seed) से। "
            "√dk के बिना, प्रशिक्षण के उत्तरार्ध में, softmax से होकर आने वाली प्रवणता √dk वाली की "
            f"{late:.2f} गुना है, {vanishing}; प्रशिक्षण के दौरान वह {way} ({begin:.2g} → {end:.2g})। "
            f"W_q और W_k की वह प्रवणता जिससे बीस में से एक चरण ऊपर जाता है, {most:.2f} गुना है, "
            f"{exploding}। {self._widths(say)}",
        )

    def _widths(self, say: Say) -> str:
        """What √dk does at either width, and what a smaller width does instead of it."""
        one, other, small, both = self.runs
        wide, narrow = one.key_width, small.key_width
        helps, too = (
            _compared(gain, say("√dk helps", "√dk से लाभ है"), say("√dk harms", "√dk से हानि है"),
                      say("√dk makes no clear difference", "√dk से कोई स्पष्ट अंतर नहीं"))
            for gain in (one.right - other.right, both.right - small.right)
        )  # fmt: skip
        against, beside, left = (
            _compared(gain, say("better than", "से बेहतर"), say("worse than", "से कमज़ोर"),
                      say("about as good as", "के लगभग बराबर"))
            for gain in (small.right - one.right, small.right - other.right, both.right - one.right)
        )  # fmt: skip
        return say(
            f"Of unseen words dk {wide} gets {one.right:.1%} right with √dk and {other.right:.1%} "
            f"without: {helps}. Shrinking the width to {narrow} instead, without √dk, gives "
            f"{small.right:.1%}: {against} {wide} with √dk, {beside} {wide} without. The narrow "
            f"one with √dk reaches {both.right:.1%}: {too} there, and it is {left} {wide} "
            "with √dk.",
            f"अनदेखे शब्दों में से dk {wide} √dk के साथ {one.right:.1%} सही करता है और उसके बिना "
            f"{other.right:.1%}: {helps}। इसके बदले, √dk के बिना, चौड़ाई {narrow} कर दें तो "
            f"{small.right:.1%}: यह √dk वाले {wide} {against} है और बिना √dk वाले {wide} {beside}। "
            f"√dk के साथ {narrow} वाला {both.right:.1%} तक पहुँचता है: वहाँ {too}, और वह √dk वाले {wide} "
            f"{left} है।",
        )


def scaled(
    *,
    widths: Sequence[int] = WIDTHS,
    numbers: Sequence[float | int] = NUMBERS,
    divide_by: float | int = 10,
    pairs: Matrix = PAIRS,
    width: int = WIDE,
    narrow: int = NARROW,
    draws: int = DRAWS,
    steps: int = 200,
    seed: int = 1,
    hear: Hear | None = None,
) -> Scaled:
    """Measure dot products by width, then train wide and `narrow`, each with √dk and without it.

    Training takes about 35 seconds on two cores; with `steps` 0 it is left out. `hear` is told how
    it goes.
    """
    sizes, draws = wholes("widths", widths), whole("draws", draws)
    width, narrow = whole("width", width), whole("narrow", narrow)
    steps, seed = whole("steps", steps, least=0), whole("seed", seed, least=0)
    if not isinstance(divide_by, int | float) or not divide_by:
        raise UserError(f"divide_by is {divide_by!r}: give a number other than 0")
    values = row("numbers", numbers)
    scores = matrix("pairs", pairs)
    kinds = ((width, True), (width, False), (narrow, False), (narrow, True)) if steps else ()
    runs = tuple(
        course(key_width=wide, scaled=over, steps=steps, seed=seed, hear=hear)
        for wide, over in kinds
    )
    variance, divided = (float(one.var(unbiased=False)) for one in (values, values / divide_by))
    return Scaled(
        spread(sizes, draws=draws, seed=seed),
        values,
        float(divide_by),
        variance,
        divided,
        scores,
        scores.softmax(-1),
        _free_values(seed),
        runs,
    )


def _free_values(seed: int) -> tuple[int, int, int]:
    """How many queries, how wide they are, and how wide the answers from wider values come out."""
    chance = torch.Generator().manual_seed(seed)
    queries, keys, values = (torch.randn(3, size, generator=chance) for size in (4, 4, 6))
    count, wide = attend(queries, keys, values).context.shape
    return count, queries.shape[1], wide


def _verdict(ratio: float, wholly: str, somewhat: str, not_so: str) -> str:
    if ratio > ALL:
        return wholly
    return somewhat if ratio > MUCH else not_so


def _compared(gain: float, more: str, less: str, same: str) -> str:
    if abs(gain) <= CLEAR:
        return same
    return more if gain > 0 else less
