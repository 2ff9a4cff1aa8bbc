"""Attention scores of rotated queries and keys, by their relative position (Su et al., 2021)."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.attention.protocol import HeadsAttended, Mask, Memory, Score
from dhyan.kernels.ops import dot_product_attention, dot_scores, scaled_dot_scores


class RotaryScore(nn.Module, Score):
    """q_i and k_j are rotated by angles that grow with i and j (Su et al., 2021).

    Their dot product then depends on their content and on i − j. The last query stands at the last
    position, as in self-attention. Unlike the paper, which rotates adjacent coordinates together,
    the two coordinates of a pair lie half a width apart, as in GPT-NeoX and LLaMA; the scores are
    the same up to the order of the coordinates.
    """

    def __init__(self, width: int, *, scaled: bool = True) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"rotary positions rotate pairs: a head width of {width} is not even")
        self.scaled = scaled

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S D"]:
        """The states, not rotated yet: that depends on their positions in the memory."""
        return states

    def forward(self, query: Float[Tensor, "B H T D"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """The score of every query with every state, by content and distance."""
        query, memory = self._rotated(query, memory)
        return (scaled_dot_scores if self.scaled else dot_scores)(query, memory.keys)

    def attend(
        self,
        query: Float[Tensor, "B H T D"],
        memory: Memory,
        mask: Mask,
        *,
        dropout: float = 0.0,
        need_weights: bool = False,
    ) -> HeadsAttended:
        """By the kernels of dot-product attention."""
        rotated_query, rotated = self._rotated(query, memory)
        context, weights = dot_product_attention(
            rotated_query,
            rotated.keys,
            rotated.values,
            mask(query, memory),
            scaled=self.scaled,
            dropout=dropout,
            need_weights=need_weights,
        )
        return HeadsAttended(context, weights, memory.advance(query.shape[2]))

    def _rotated(
        self, query: Float[Tensor, "B H T D"], memory: Memory
    ) -> tuple[Float[Tensor, "B H T D"], Memory]:
        count, queries = memory.mask.shape[1], query.shape[2]
        positions = torch.arange(count, device=query.device)
        keys = rotate(memory.keys, positions)
        return rotate(query, positions[count - queries :]), replace(memory, keys=keys)


def rotate(
    vectors: Float[Tensor, "B H N D"], positions: Int[Tensor, " N"]
) -> Float[Tensor, "B H N D"]:
    """Each pair (x, y) of coordinates half a width apart, rotated by position × frequency.

    The frequencies fall from 1 to nearly 1 / 10,000; angles need single precision whatever the
    vectors have.
    """
    width = vectors.shape[-1]
    frequencies = 10_000 ** -(torch.arange(0, width, 2, device=positions.device) / width)
    angles = torch.outer(positions.to(frequencies.dtype), frequencies)
    cosine, sine = angles.cos(), angles.sin()
    x, y = vectors.chunk(2, dim=-1)
    rotated = torch.cat([x * cosine - y * sine, y * cosine + x * sine], dim=-1)
    return rotated.to(vectors.dtype)
