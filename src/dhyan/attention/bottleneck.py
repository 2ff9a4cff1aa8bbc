"""No attention at all (Sutskever, Vinyals and Le, 2014): every query gets the one final state."""

from jaxtyping import Float
from torch import Tensor, nn

from dhyan.attention.masks import the_last
from dhyan.attention.protocol import Memory, Sight
from dhyan.attention.single_head import SingleHeadAttention


class EvenScore(nn.Module):
    """Prefers nothing: the weight is shared evenly by all that may be seen."""

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S 0"]:
        """Nothing: nothing is matched."""
        return states[..., :0]

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """Zero for every pair."""
        return query.new_zeros(*query.shape[:3], memory.mask.shape[1])


def bottleneck(*, sees: Sight = the_last) -> SingleHeadAttention:
    """An attention that may see only the state that was read last.

    That is the last state of a sentence read forwards, the first of one read backwards. Of one
    read both ways it is the last, whose backward half has read a single token.
    """
    return SingleHeadAttention(EvenScore(), sees=sees)
