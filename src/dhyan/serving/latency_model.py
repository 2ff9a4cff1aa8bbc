"""How long a batch takes, learnt from those before it: a part for each, and a part by its work."""

import math

FADE = 0.9
SPREAD = 0.05  # the least variation of work, relative to its mean, that tells the parts apart


class Pace:
    """Least squares over seconds = each + rate · work, in which older batches fade."""

    def __init__(self) -> None:
        self._weight = self._x = self._y = self._xx = self._xy = 0.0

    def learn(self, work: float, seconds: float) -> None:
        """A batch of this work took so long."""
        for name, value in (
            ("_weight", 1.0), ("_x", work), ("_y", seconds),
            ("_xx", work * work), ("_xy", work * seconds),
        ):  # fmt: skip
            setattr(self, name, FADE * getattr(self, name) + value)

    def seconds(self, work: float, batch: float) -> float:
        """What so much work takes in batches of at most so much; 0 before anything is known."""
        if not self._weight or work <= 0:
            return 0.0
        each, rate = self._parts()
        return math.ceil(work / batch) * each + rate * work

    def _parts(self) -> tuple[float, float]:
        x, y = self._x / self._weight, self._y / self._weight
        spread = self._xx / self._weight - x * x
        if spread <= (SPREAD * x) ** 2:
            return 0.0, y / x
        rate = (self._xy / self._weight - x * y) / spread
        rate = min(max(rate, 0.0), y / x)
        return y - rate * x, rate
