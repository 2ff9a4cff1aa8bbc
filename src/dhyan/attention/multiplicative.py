"""Multiplicative scores: dot, general (Luong et al., 2015), scaled dot (Vaswani et al., 2017)."""

from jaxtyping import Float
from torch import Tensor, nn

from dhyan.attention.protocol import HeadsAttended, Mask, Memory, Score
from dhyan.kernels.ops import (
    AttentionOperands,
    dot_product_attention,
    dot_scores,
    scaled_dot_scores,
)


class DotScore(nn.Module, Score):
    """e_ij = q_iᵀ k_j: no parameters, so query and key must be equally wide.

    The 'dot' score of Luong, Pham and Manning (2015, equation 7). Scaled, it is divided by √d_k, so
    that the scores' variance does not grow with the width (Vaswani et al., 2017, equation 1).
    """

    def __init__(self, *, scaled: bool = False) -> None:
        super().__init__()
        self.scaled = scaled

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S D"]:
        """The states themselves."""
        return states

    def forward(self, query: Float[Tensor, "B H T D"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """The score of every query with every state."""
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
        """By the kernels of dot-product attention.

        In `training` short sentences have a kernel of their own, which computes a padding or a
        causal mask itself.
        """
        positions = mask(query, memory) if mask.causal is None else memory.mask
        context, weights = dot_product_attention(
            query,
            memory.keys,
            memory.values,
            positions,
            causal=bool(mask.causal),
            scaled=self.scaled,
            dropout=dropout,
            training=self.training,
            need_weights=need_weights,
        )
        return HeadsAttended(context, weights, memory.advance(query.shape[2]))

    def operands(self, memory: Memory) -> AttentionOperands:
        """Dot products, scaled or not."""
        scale = memory.keys.shape[-1] ** -0.5 if self.scaled else 1.0
        return AttentionOperands(memory.keys, memory.values, memory.mask, scale=scale)


class GeneralScore(nn.Module, Score):
    """e_ij = s_iᵀ W h_j: a learned map between spaces of different width.

    The 'general' score of Luong, Pham and Manning (2015, equation 7).
    """

    def __init__(self, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.key = nn.Linear(memory_width, query_width, bias=False)

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S Q"]:
        """W h_j, the same at every step; what is left is a dot product."""
        return self.key(states)

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """The score of every query with every state."""
        return dot_scores(query, memory.keys)

    def operands(self, memory: Memory) -> AttentionOperands:
        """Dot products with the keys."""
        return AttentionOperands(memory.keys, memory.values, memory.mask)
