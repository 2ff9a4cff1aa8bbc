"""Attention masks: causal, full, one position only, and the local windows of Luong et al. (2015).

A position is real if it is no padding; every mask excludes padding.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention.protocol import Memory
from dhyan.kernels.ops import at_least_float32, position_mask


@dataclass(frozen=True)
class PositionMask:
    """Real positions; if `causal`, none later than the query (Vaswani et al., 2017, section 3.2.3).

    The last query stands at the last position of the memory, so a decoder fed one token at a time
    attends to exactly what it would attend to in parallel.
    """

    causal: bool

    def __call__(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
        """The padding mask for every query, up to its own position if causal."""
        return position_mask(memory.mask, query.shape[2], causal=self.causal)


all_positions = PositionMask(causal=False)
causal = PositionMask(causal=True)


@dataclass(frozen=True)
class SinglePosition:
    """The first or the last real position: where an RNN encoder ends, reading backwards or not."""

    first: bool
    causal: ClassVar[bool | None] = None

    def __call__(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
        """True at that position alone."""
        position = 0 if self.first else _lengths(memory) - 1
        return all_positions(query, memory) & (_positions(memory) == position)


last_position = SinglePosition(first=False)
first_position = SinglePosition(first=True)


@dataclass(frozen=True)
class LocalWindow:
    """The i-th query attends to positions i − radius … i + radius: local-m of Luong et al. (2015).

    Not in the paper: queries past the end of the sentence attend to its last positions.
    """

    radius: int
    causal: ClassVar[bool | None] = None

    def __call__(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
        """True within the window."""
        steps = memory.steps + torch.arange(query.shape[2], device=query.device)
        centre = torch.minimum(steps[:, None], _lengths(memory) - 1)
        near = (_positions(memory) - centre).abs() <= self.radius
        return all_positions(query, memory) & near


class PredictedWindow(nn.Module):
    """A window whose centre is predicted from the query: local-p of Luong et al. (2015).

    Equations 9 and 10: p_i = S · sigmoid(vᵀ tanh(W s_i)); positions within `radius` of p_i are
    unmasked, and the weights are multiplied by exp(−(j − p_i)² / 2σ²) with σ = radius / 2. As in
    the paper they do not sum to one afterwards.
    """

    causal: bool | None = None

    def __init__(self, query_width: int, radius: int) -> None:
        super().__init__()
        self.radius = radius
        self.hidden = nn.Linear(query_width, query_width, bias=False)
        self.position = nn.Linear(query_width, 1, bias=False)

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """The factor of each weight, from 0 to 1."""
        share = torch.sigmoid(self.position(torch.tanh(self.hidden(query))))
        distance = _positions(memory) - _lengths(memory) * at_least_float32(share)
        near = all_positions(query, memory) & (distance.abs() <= self.radius)
        return torch.exp(-2 * (distance / self.radius) ** 2).masked_fill(~near, 0.0)


def _positions(memory: Memory) -> Tensor:
    return torch.arange(memory.mask.shape[1], device=memory.mask.device)


def _lengths(memory: Memory) -> Tensor:
    return memory.mask.sum(dim=1)[:, None, None, None]
