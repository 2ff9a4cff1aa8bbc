"""Reading facts off vectors: a linear probe, how sure it is, and how alike two sets of vectors."""

from dataclasses import dataclass
from math import sqrt

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

DECAY = 0.01  # of the squared weights of a probe
NORMAL = 1.96  # standard errors on either side hold 95 % of what chance does


@dataclass(frozen=True)
class Probed:
    """How many answers a probe got right, and the share with its interval of 95 %."""

    right: int
    asked: int

    @property
    def share(self) -> float:
        """The share that is right."""
        return self.right / self.asked

    @property
    def interval(self) -> tuple[float, float]:
        """Where it lies with 95 % certainty."""
        return wilson(self.right, self.asked)


def wilson(right: int, asked: int) -> tuple[float, float]:
    """The interval of 95 % of a share, by Wilson's score (1927), which never leaves 0 to 1."""
    share, square = right / asked, NORMAL**2
    middle = (share + square / (2 * asked)) / (1 + square / asked)
    half = sqrt(share * (1 - share) / asked + square / (4 * asked**2))
    half *= NORMAL / (1 + square / asked)
    return max(0.0, middle - half), min(1.0, middle + half)


def logistic(
    fit: tuple[Float[Tensor, "N D"], Int[Tensor, " N"]],
    test: tuple[Float[Tensor, "M D"], Int[Tensor, " M"]],
) -> Probed:
    """Logistic regression with a penalty on its weights, fitted on some and asked of others.

    Numbers are first brought to one size; one that is the same everywhere says nothing.
    """
    known, answers = fit[1].unique(return_inverse=True)
    middle, spread = fit[0].double().mean(0), fit[0].double().std(0)
    spread = torch.where(spread > 1e-9, spread, torch.inf)
    x, y = ((one[0].double() - middle) / spread for one in (fit, test))
    weights = torch.zeros(x.shape[1], len(known), dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(len(known), dtype=torch.float64, requires_grad=True)
    steps = torch.optim.LBFGS([weights, bias], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        steps.zero_grad()
        found = cross_entropy(x @ weights + bias, answers) + DECAY / 2 * weights.square().sum()
        found.backward()
        return found

    with torch.enable_grad():
        steps.step(loss)
    with torch.no_grad():
        said = known[(y @ weights + bias).argmax(-1)]
    return Probed(int((said == test[1]).sum()), len(test[1]))


def between(vectors: Float[Tensor, "N D"], groups: Int[Tensor, " N"]) -> float:
    """The share of the variance of all vectors that lies between the means of their groups."""
    x = vectors.double() - vectors.double().mean(0)
    total = float(x.square().sum())
    if total < 1e-9:
        return 0.0
    means = [(x[groups == one].mean(0), int((groups == one).sum())) for one in groups.unique()]
    return sum(count * float(mean.square().sum()) for mean, count in means) / total


def alike(one: Float[Tensor, "N D"], other: Float[Tensor, "N E"]) -> float:
    """How alike the vectors of the same things lie in two spaces: linear CKA (Kornblith, 2019).

    1 if one is the other turned or stretched, 0 if nothing in one follows from the other.
    """
    x, y = (each.double() - each.double().mean(0) for each in (one, other))
    both = (x.T @ y).square().sum()
    return float(both / ((x.T @ x).norm() * (y.T @ y).norm()))


def plane(vectors: Float[Tensor, "N D"]) -> tuple[Float64[Tensor, "N 2"], Float64[Tensor, " 2"]]:
    """The vectors on their two axes of most variance, and the shares these explain."""
    x = vectors.double() - vectors.double().mean(0)
    left, sizes, _ = torch.linalg.svd(x, full_matrices=False)
    total = sizes.square().sum().clamp(min=1e-12)
    return left[:, :2] * sizes[:2], sizes[:2].square() / total
