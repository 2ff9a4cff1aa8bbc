"""Linear probes: what can be read off a model's states, and what was found layer by layer."""

from dataclasses import dataclass
from math import sqrt

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

RIDGE = 1.0
SURE = 2.0  # standard errors between two shares that count as different


@dataclass(frozen=True)
class Fact:
    """What a probe was asked: the share it got right from the embedding, then from each layer.

    `chance` is the share of the commonest answer, `count` how many answers were judged.
    """

    english: str
    hindi: str
    of_word: bool
    chance: float
    count: int
    shares: tuple[float, ...]

    @property
    def change(self) -> float:
        """From the first layer to the last."""
        return self.shares[-1] - self.shares[1]

    @property
    def clear(self) -> bool:
        """Whether the change is larger than chance would make it."""
        first, last = self.shares[1], self.shares[-1]
        error = sqrt((first * (1 - first) + last * (1 - last)) / self.count)
        return abs(self.change) > SURE * error

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
