"""Attention scores with a bias by distance: ALiBi (Press et al., 2022), T5's (Raffel et al., 2020)."""

from math import log

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.attention.protocol import HeadsAttended, Mask, Memory, Score
from dhyan.kernels.ops import dot_product_attention, dot_scores, scaled_dot_scores


class AlibiBias(nn.Module):
    """A penalty −m_h |i − j| on distance, with its own slope m_h in each head h.

    Press, Smith and Lewis (2022), with m_h = 2^(−8h/H). The paper is causal, with i − j ≥ 0; the
    absolute value extends it to encoders.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, queries: int, keys: int, device: torch.device) -> Float[Tensor, "1 H T S"]:
        """The biases of the last `queries` of so many positions with all of them."""
        slopes = 2.0 ** (-8 * torch.arange(1, self.heads + 1, device=device) / self.heads)
        distance = distances(queries, keys, device).abs()
        return -(slopes[:, None, None] * distance).unsqueeze(0)


class RelativePositionBias(nn.Module):
    """A bias b_h(j − i) for each head h, learned for `buckets` of distances.

    Half of the buckets are one distance each; the others grow in logarithmic steps up to
    `max_distance`, beyond which all share the last. In both directions each has half of them. One
    module serves all layers of an encoder or a decoder.
    """

    def __init__(
        self, heads: int, *, buckets: int = 32, max_distance: int = 128, causal: bool = False
    ) -> None:
        super().__init__()
        of_direction = buckets if causal else buckets // 2
        if of_direction < 2 or buckets % 2 or max_distance <= of_direction // 2:
            raise ValueError(
                f"{buckets} buckets do not divide distances up to {max_distance}; give an even number "
                f"from 4 on, and less of them or a larger distance"
            )
        self.max_distance = max_distance
        self.causal = causal
        self.of_direction = of_direction
        self.table = nn.Embedding(buckets, heads)

    def forward(self, queries: int, keys: int, device: torch.device) -> Float[Tensor, "1 H T S"]:
        """The biases of the last `queries` of so many positions with all of them."""
        buckets = self._bucket(distances(queries, keys, device))
        return self.table(buckets).permute(2, 0, 1).unsqueeze(0)

    def _bucket(self, distance: Int[Tensor, "T S"]) -> Int[Tensor, "T S"]:
        after = 0 if self.causal else (distance > 0) * self.of_direction
        length = (-distance).clamp(min=0) if self.causal else distance.abs()
        exact = self.of_direction // 2
        steps = (length.clamp(min=1) / exact).log() / log(self.max_distance / exact)
        rough = exact + (steps * (self.of_direction - exact)).long()
        return after + length.where(length < exact, rough.clamp(max=self.of_direction - 1))


def distances(queries: int, keys: int, device: torch.device) -> Int[Tensor, "T S"]:
    """j − i of the last `queries` of so many positions with all of them."""
    positions = torch.arange(keys, device=device)
    return positions - positions[keys - queries :].unsqueeze(1)


class BiasedScore(nn.Module, Score):
    """q_iᵀ k_j + b_h(i, j); the last query stands at the last position.

    T5 does not scale the dot product; `scaled` divides it by √d.
    """

    def __init__(self, bias: AlibiBias | RelativePositionBias, *, scaled: bool = True) -> None:
        super().__init__()
        self.bias = bias
        self.scaled = scaled

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S D"]:
        """The states themselves."""
        return states

    def forward(self, query: Float[Tensor, "B H T D"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """The score of every query with every state, and the bias of their distance."""
        scores = (scaled_dot_scores if self.scaled else dot_scores)(query, memory.keys)
        return scores + self._bias(query, memory).to(scores.dtype)

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
        context, weights = dot_product_attention(
            query,
            memory.keys,
            memory.values,
            mask(query, memory),
            scaled=self.scaled,
            bias=self._bias(query, memory),
            dropout=dropout,
            need_weights=need_weights,
        )
        return HeadsAttended(context, weights, memory.advance(query.shape[2]))

    def _bias(self, query: Float[Tensor, "B H T D"], memory: Memory) -> Float[Tensor, "1 H T S"]:
        bias: Float[Tensor, "1 H T S"] = self.bias(
            query.shape[2], memory.mask.shape[1], query.device
        )
        return bias
