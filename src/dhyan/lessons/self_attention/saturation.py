"""How dot products spread with their width, and what the softmax makes of that."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

KEYS = 8  # so many keys in a row of scores


@dataclass(frozen=True)
class Spread:
    """Measured over many random q and k of each width, their numbers of mean 0 and variance 1.

    A row is raw (q·k) or scaled (q·k/√dk), a column a width: the variance, the mean largest of
    eight weights, and the mean size of the softmax's slopes, √Σ (∂w_i/∂e_j)².
    """

    widths: tuple[int, ...]
    variances: Float64[Tensor, "2 N"]
    largest: Float64[Tensor, "2 N"]
    slopes: Float64[Tensor, "2 N"]

    @property
    def per_width(self) -> tuple[float, float]:
        """The least and the most of Var(q·k)/dk: both are near 1 if it grows linearly."""
        ratios = self.variances[0] / torch.tensor(self.widths)
        return float(ratios.min()), float(ratios.max())


def spread(widths: Sequence[int], *, draws: int, seed: int) -> Spread:
    """Draw a query and eight keys so often for each width."""
    chance = torch.Generator().manual_seed(seed)
    columns = [_measured(width, draws, chance) for width in widths]
    variances, largest, slopes = (torch.stack(one, dim=1) for one in zip(*columns, strict=True))
    return Spread(tuple(widths), variances, largest, slopes)


def _measured(width: int, draws: int, chance: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    queries, keys = (
        torch.randn(draws, count, width, generator=chance, dtype=torch.float64)
        for count in (1, KEYS)
    )
    raw = (queries * keys).sum(-1)
    scores = torch.stack([raw, raw / width**0.5])
    weights = scores.softmax(-1)
    variances = scores.flatten(1).var(dim=1, unbiased=False)
    return variances, weights.amax(-1).mean(1), slope(weights).mean(1)


def slope(weights: Float64[Tensor, "*A N"]) -> Float64[Tensor, "*A"]:
    """√Σ (∂w_i/∂e_j)² of the softmax, whose slopes are w_i (δ_ij − w_j)."""
    squares = weights.square().sum(-1)
    return (squares - 2 * weights.pow(3).sum(-1) + squares.square()).clamp_min(0).sqrt()
