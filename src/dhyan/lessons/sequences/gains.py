"""What one model of a comparison adds to another: in BLEU, by length, and by place."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Literal

from dhyan.lessons.reports import Facts, figures, main_test

SURE = 1.96  # standard errors to either side that hold 95 % of a normal distribution
What = Literal["reversal", "depth"]


@dataclass(frozen=True)
class Gain:
    """What is added, and where that lies with 95 % certainty, if this is known."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def sign(self) -> int:
        """1 if it is surely more than nothing, −1 if surely less, else 0."""
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        return int(low > 0) - int(high < 0)

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return signed(self.value)
        return f"{signed(self.value)} ({signed(self.low)} … {signed(self.high)})"


@dataclass(frozen=True)
class Change:
    """An improvement put to the test: what the model `after` adds to the one `before`.

    `bleu` are the scores of both, `by_length` gains of BLEU, and `by_place` gains in hundredths
    of the tokens that are right in each fifth of the target. Intervals of BLEU are made of those of
    the two models as if their tests were drawn apart, which makes them rather too wide; those by
    place take tokens for independent, which makes them rather too narrow.
    """

    what: What
    into: str
    before: str
    after: str
    parameters: tuple[int, int]
    steps: int
    bleu: tuple[float, float]
    gain: Gain
    lengths: tuple[str, ...]
    by_length: tuple[Gain | None, ...]
    by_place: tuple[Gain, ...]

    @property
    def as_claimed(self) -> bool:
        """Reversal is to help the first words and to cost the last; depth is to help."""
        if self.what == "depth":
            return self.gain.sign > 0
        return self.by_place[0].sign > 0 > self.by_place[-1].sign


def signed(value: float) -> str:
    """A change with its sign."""
    return f"{value:+.1f}".replace("-", "−")


def change_of(found: Facts, what: What, before: str, after: str) -> Change:
    """Read both models off a report."""
    from dhyan.compare.report_figures import spoken

    names, models = (before, after), found["models"]
    tests = [main_test(found, name) for name in names]
    groups = [test["by_length"] for test in tests]
    return Change(
        what=what,
        into=models[after]["language"],
        before=before,
        after=after,
        parameters=(models[before]["parameters"], models[after]["parameters"]),
        steps=models[after]["steps"],
        bleu=(tests[0]["bleu"]["value"], tests[1]["bleu"]["value"]),
        gain=_difference(*(_scored(test["bleu"]) for test in tests)),
        lengths=tuple(map(spoken, groups[0])),
        by_length=_by_length(*groups),
        by_place=_by_place(*(models[name]["positions"] for name in names)),
    )


def _scored(bleu: Facts) -> Gain:
    if not (drawn := bleu.get("interval")):
        return Gain(float(bleu["value"]))
    return Gain(float(bleu["value"]), float(drawn["low"]), float(drawn["high"]))


def _by_length(before: Sequence[Facts], after: Sequence[Facts]) -> tuple[Gain | None, ...]:
    sides = []
    for groups in (before, after):
        keys = ("bleu", "bleu_low", "bleu_high")
        sides.append(list(zip(*(figures(groups, key) for key in keys), strict=True)))
    return tuple(
        None if a is None or b is None else _difference(Gain(a, *own), Gain(b, *other))
        for (a, *own), (b, *other) in zip(*sides, strict=True)
    )


def _difference(before: Gain, after: Gain) -> Gain:
    """One measure less another; each end of the interval is as far off as theirs together."""
    value = after.value - before.value
    match before.low, before.high, after.low, after.high:
        case float() as low, float() as high, float() as least, float() as most:
            below = hypot(after.value - least, high - before.value)
            above = hypot(most - after.value, before.value - low)
            return Gain(value, value - below, value + above)
    return Gain(value)


def _by_place(before: Facts, after: Facts) -> tuple[Gain, ...]:
    """By the normal approximation for two shares."""
    found = []
    for place, (p, q) in enumerate(zip(before["shares"], after["shares"], strict=True)):
        n, m = (max(side["tokens"][place], 1) for side in (before, after))
        margin = 100 * SURE * sqrt(p * (1 - p) / n + q * (1 - q) / m)
        value = 100 * (q - p)
        found.append(Gain(value, value - margin, value + margin))
    return tuple(found)
