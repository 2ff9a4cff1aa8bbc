"""Scores that multiply: dot and general (Luong et al., 2015), scaled dot (Vaswani et al., 2017)."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention.protocol import Memory
from dhyan.kernels.dot_product_attention import dot_attention
from dhyan.kernels.reference import dot_scores, scaled_dot_scores


class DotScore(nn.Module):
    """e_ij = q_iᵀ k_j: no parameters, so query and key must be equally wide.

    Scaled, it is divided by √dk, so that the scores' spread does not grow with the width.
    """

    def __init__(self, *, scaled: bool = False) -> None:
        super().__init__()
        self.scaled = scaled

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S D"]:
        """The states themselves."""
        return states

    def forward(self, query: Float[Tensor, "B H T D"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """How well each state answers each query."""
        multiply = scaled_dot_scores if self.scaled else dot_scores
        return multiply(query, memory.keys)

    def fused(
        self,
        query: Float[Tensor, "B H T D"],
        memory: Memory,
        seen: Bool[Tensor, "#B #H T S"],
        *,
        dropout: float = 0.0,
        bias: Float[Tensor, "#B #H T S"] | None = None,
    ) -> Float[Tensor, "B H T E"]:
        """The same through PyTorch's kernel, which never holds the weights; a bias is added."""
        scale = None if self.scaled else 1.0
        return dot_attention(
            query, memory.keys, memory.values, seen, scale=scale, dropout=dropout, bias=bias
        )

    def short(
        self, query: Float[Tensor, "B H T D"], memory: Memory, *, causal: bool
    ) -> Float[Tensor, "B H T E"] | None:
        """The same over short sentences, of which padding is hidden and, if `causal`, the future.

        Heads may share keys. None if the sentences are too long for it.
        """
        from dhyan.kernels.triton.short_attention import is_short, short_attention

        if not is_short(query, memory.keys, memory.values):
            return None
        scale = query.shape[-1] ** -0.5 if self.scaled else 1.0
        return short_attention(
            query, memory.keys, memory.values, memory.mask, causal=causal, scale=scale
        )


class GeneralScore(nn.Module):
    """e_ij = s_iᵀ W h_j: a learned map between spaces of different width."""

    def __init__(self, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.key = nn.Linear(memory_width, query_width, bias=False)

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S Q"]:
        """W h_j, which no step changes; what is left is a dot product."""
        return self.key(states)

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """How well each state answers each query."""
        return dot_scores(query, memory.keys)
