"""Scores that know how far apart two positions are: rotary (Su et al.), ALiBi (Press et al.)."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dhyan.attention.multiplicative import DotScore
from dhyan.attention.protocol import Memory


class RotaryScore(nn.Module):
    """q_i and k_j are turned by angles that grow with i and j (Su et al., 2021).

    Then their dot product depends on what they are and on i − j. The last query stands at the last
    position, as in self-attention. Pairs turned together lie half a width apart.
    """

    def __init__(self, width: int, *, scaled: bool = True) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"rotary positions turn pairs: a head width of {width} is not even")
        self.score = DotScore(scaled=scaled)

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S D"]:
        """The states, not turned yet: that depends on where they stand in the memory."""
        return states

    def forward(self, query: Float[Tensor, "B H T D"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """How well each state answers each query, from where it stands."""
        return self.score(*self._turned(query, memory))

    def fused(
        self,
        query: Float[Tensor, "B H T D"],
        memory: Memory,
        seen: Bool[Tensor, "#B #H T S"],
        *,
        dropout: float = 0.0,
    ) -> Float[Tensor, "B H T E"]:
        """The same through the kernel of the dot product."""
        return self.score.fused(*self._turned(query, memory), seen, dropout=dropout)

    def _turned(
        self, query: Float[Tensor, "B H T D"], memory: Memory
    ) -> tuple[Float[Tensor, "B H T D"], Memory]:
        count, queries = memory.mask.shape[1], query.shape[2]
        places = torch.arange(count, device=query.device)
        keys = turn(memory.keys, places)
        return turn(query, places[count - queries :]), replace(memory, keys=keys)


def turn(vectors: Float[Tensor, "B H N D"], places: Int[Tensor, " N"]) -> Float[Tensor, "B H N D"]:
    """Each pair (x, y) of coordinates half a width apart, turned by place × rate.

    The rates fall from 1 to nearly 1 / 10,000; angles need single precision whatever the vectors
    have.
    """
    width = vectors.shape[-1]
    rates = 10_000 ** -(torch.arange(0, width, 2, device=places.device) / width)
    angles = torch.outer(places.to(rates.dtype), rates)
    cosine, sine = angles.cos(), angles.sin()
    x, y = vectors.chunk(2, dim=-1)
    turned = torch.cat([x * cosine - y * sine, y * cosine + x * sine], dim=-1)
    return turned.to(vectors.dtype)


class AlibiScore(nn.Module):
    """q_iᵀ k_j − m_h |i − j|: what is far counts less, in each head h at its own rate.

    Press, Smith and Lewis (2022), with m_h = 2^(−8h/H). The last query stands at the last position.
    """

    def __init__(self, heads: int, *, scaled: bool = True) -> None:
        super().__init__()
        self.score = DotScore(scaled=scaled)
        self.heads = heads

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S D"]:
        """The states themselves."""
        return states

    def forward(self, query: Float[Tensor, "B H T D"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """How well each state answers each query, less for its distance."""
        scores = self.score(query, memory)
        return scores + self._bias(query, memory).to(scores.dtype)

    def fused(
        self,
        query: Float[Tensor, "B H T D"],
        memory: Memory,
        seen: Bool[Tensor, "#B #H T S"],
        *,
        dropout: float = 0.0,
    ) -> Float[Tensor, "B H T E"]:
        """The same through the kernel of the dot product."""
        bias = self._bias(query, memory)
        return self.score.fused(query, memory, seen, dropout=dropout, bias=bias)

    def _bias(self, query: Float[Tensor, "B H T D"], memory: Memory) -> Float[Tensor, "1 H T S"]:
        places = torch.arange(memory.mask.shape[1], device=query.device)
        asking = places[len(places) - query.shape[2] :]
        distance = (asking.unsqueeze(1) - places).abs()
        slopes = 2.0 ** (-8 * torch.arange(1, self.heads + 1, device=query.device) / self.heads)
        return -(slopes[:, None, None] * distance).unsqueeze(0)
