"""Linear probes: what can be read off a model's states, and what was found layer by layer."""

from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

RIDGE = 1.0
SURE = 2.0  # standard errors between two shares that count as different
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36}  # 95 %, by trainings


@dataclass(frozen=True)
class Fact:
    """What a probe was asked: the shares it got right from the embedding, then from each layer.

    There is a row of shares for every training. `chance` is the share of the commonest answer,
    `count` how many answers were judged.
    """

    name: str
    of_word: bool
    chance: float
    count: int
    runs: tuple[tuple[float, ...], ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """The mean over the trainings."""
        return tuple(mean(own) for own in zip(*self.runs, strict=True))

    @property
    def lows(self) -> tuple[float, ...]:
        """The least of any training."""
        return tuple(map(min, zip(*self.runs, strict=True)))

    @property
    def highs(self) -> tuple[float, ...]:
        """The most of any training."""
        return tuple(map(max, zip(*self.runs, strict=True)))

    @property
    def change(self) -> float:
        """From the first layer to the last, in the mean."""
        return self.shares[-1] - self.shares[1]

    @property
    def margin(self) -> float:
        """By how much the change may be off: by Student's t over the trainings.

        Of a single training it is known only how far other sentences would move it.
        """
        if len(self.runs) > 1:
            changes = [one[-1] - one[1] for one in self.runs]
            return STUDENT.get(len(changes), 2.3) * stdev(changes) / sqrt(len(changes))
        first, last = self.shares[1], self.shares[-1]
        return SURE * sqrt((first * (1 - first) + last * (1 - last)) / self.count)

    @property
    def clear(self) -> bool:
        """Whether the change is larger than chance would make it."""
        return abs(self.change) > self.margin

    @property
    def as_claimed(self) -> bool:
        """Facts of words are to fade as one climbs, facts of sentences to grow."""
        return self.clear and (self.change < 0) == self.of_word


def probe(
    fit: tuple[Float[Tensor, "N D"], Int[Tensor, " N"]],
    test: tuple[Float[Tensor, "M D"], Int[Tensor, " M"]],
) -> float:
    """The share of test answers that a linear map, fitted by ridge regression, gets right."""
    known, answers = fit[1].unique(return_inverse=True)
    middle, spread = fit[0].double().mean(0), fit[0].double().std(0) + 1e-6
    x, y = (_with_one((one[0].double() - middle) / spread) for one in (fit, test))
    square = x.T @ x + RIDGE * torch.eye(x.shape[1], dtype=x.dtype)
    fitted = torch.linalg.solve(square, x.T @ one_hot(answers).to(x.dtype))
    return float((known[(y @ fitted).argmax(-1)] == test[1]).double().mean())


def _with_one(x: Tensor) -> Tensor:
    return torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)
