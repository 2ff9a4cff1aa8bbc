"""Single-head attention of the recurrent models, with any score and mask."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention.masks import all_positions
from dhyan.attention.multiplicative import DotScore
from dhyan.attention.protocol import Attended, Attention, Mask, Memory, Score
from dhyan.kernels.ops import AttentionOperands


class SingleHeadAttention(nn.Module, Attention):
    """The values are the states themselves; the score makes the keys.

    c_i = Σ_j α_ij h_j with α_i = softmax(e_i): Bahdanau et al. (2015), equations 5 and 6.

    `dropout` drops weights in training; with `need_weights` no fused kernel replaces them.
    """

    def __init__(
        self,
        score: Score,
        *,
        mask: Mask = all_positions,
        dropout: float = 0.0,
        need_weights: bool = False,
    ) -> None:
        super().__init__()
        self.score = score
        self.mask = mask
        self.dropout = dropout
        self.need_weights = need_weights

    def remember(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        """Keys by the score; values are the states."""
        values = states.unsqueeze(1)
        return Memory(self.score.keys(values), values, mask)

    def forward(self, query: Float[Tensor, "B T Q"], memory: Memory) -> Attended:
        """One weight per query and state."""
        context, weights, memory = self.score.attend(
            query.unsqueeze(1),
            memory,
            self.mask,
            dropout=self.dropout if self.training else 0.0,
            need_weights=self.need_weights,
        )
        return Attended(context.squeeze(1), weights, memory)

    def context_width(self, memory_width: int) -> int:
        """That of the states, which are the values."""
        return memory_width

    def operands(self, memory: Memory) -> AttentionOperands | None:
        """Those of the score, unless a mask or dropout of the weights changes the step."""
        unchanged = self.mask == all_positions and not (self.training and self.dropout)
        return self.score.operands(memory) if unchanged and not self.need_weights else None


def parameter_free_attention(*, mask: Mask = all_positions) -> SingleHeadAttention:
    """Y = softmax(X Xᵀ) X, with nothing learned: a vector is query, key and value at once.

    It is the form in which self-attention is usually introduced, and a baseline for what
    projections add. Encoders use it with `self_attention = "parameter_free"`, by `self_attend`.
    """
    return SingleHeadAttention(DotScore(), mask=mask)
