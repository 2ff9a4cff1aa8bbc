"""No attention: every query gets the encoder's final state, as in Cho et al. (2014).

Sutskever, Vinyals and Le (2014) only start the decoder with that state. A decoder with this
attention reads it at every step too.
"""

from jaxtyping import Float
from torch import Tensor, nn

from dhyan.attention.masks import last_position
from dhyan.attention.protocol import Mask, Memory, Score
from dhyan.attention.single_head import SingleHeadAttention


class UniformScore(nn.Module, Score):
    """Zero for every pair: all unmasked positions get the same weight."""

    uses_keys: bool = False

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S 0"]:
        """Empty: no state is matched."""
        return states[..., :0]

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """Zeros."""
        return query.new_zeros(*query.shape[:3], memory.mask.shape[1])


def bottleneck(*, mask: Mask = last_position) -> SingleHeadAttention:
    """An attention with all its weight on the state that was read last.

    That is the last state of a sentence read forwards, the first of one read backwards. Of one
    read both ways it is the last, whose backward half has read a single token.
    """
    return SingleHeadAttention(UniformScore(), mask=mask)
