"""What a query may see: everything, the past, a single state, or what lies about a place."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention.protocol import Memory, Sight
from dhyan.kernels.reference import exact


@dataclass(frozen=True)
class Whole:
    """All that is real; if `causal`, nothing later than the query itself.

    The last query stands at the last memory position, so a decoder fed one
    token at a time sees exactly what it would have seen in parallel.
    """

    causal: bool

    def __call__(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
        """The mask itself, for every query alike, or as far as each has come."""
        queries, positions = query.shape[2], memory.mask.shape[1]
        real = memory.mask[:, None, None, :].expand(-1, 1, queries, -1)
        if not self.causal:
            return real
        past = torch.ones(queries, positions, dtype=torch.bool, device=memory.mask.device)
        return real & past.tril(positions - queries)


everything = Whole(causal=False)
the_past = Whole(causal=True)


def the_last(query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
    """Only the last real state: the end of a sentence read forwards."""
    return everything(query, memory) & (_places(memory) == _lengths(memory) - 1)


def the_first(query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
    """Only the first state: the end of a sentence read backwards."""
    return everything(query, memory) & (_places(memory) == 0)


def near_the_step(reach: int) -> Sight:
    """The i-th query sees the positions i − reach … i + reach: local-m of Luong et al. (2015).

    Queries past the end of the sentence see its last positions.
    """

    def sight(query: Float[Tensor, "B H T Q"], memory: Memory) -> Bool[Tensor, "B 1 T S"]:
        steps = memory.asked + torch.arange(query.shape[2], device=query.device)
        centre = torch.minimum(steps[:, None], _lengths(memory) - 1)
        return everything(query, memory) & ((_places(memory) - centre).abs() <= reach)

    return sight


class PredictedWindow(nn.Module):
    """The query itself says about where to look: local-p of Luong et al. (2015).

    p_i = S · sigmoid(vᵀ tanh(W s_i)); positions within `reach` of p_i are seen, and the weights
    are multiplied by exp(−(j − p_i)² / 2σ²) with σ = reach / 2. As in the paper they are not
    brought back to a sum of one.
    """

    def __init__(self, query_width: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.hidden = nn.Linear(query_width, query_width, bias=False)
        self.place = nn.Linear(query_width, 1, bias=False)

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """How clearly each position is seen, from 0 to 1."""
        share = torch.sigmoid(self.place(torch.tanh(self.hidden(query))))
        distance = _places(memory) - _lengths(memory) * exact(share)
        near = everything(query, memory) & (distance.abs() <= self.reach)
        return torch.exp(-2 * (distance / self.reach) ** 2).masked_fill(~near, 0.0)


def _places(memory: Memory) -> Tensor:
    return torch.arange(memory.mask.shape[1], device=memory.mask.device)


def _lengths(memory: Memory) -> Tensor:
    return memory.mask.sum(dim=1)[:, None, None, None]
