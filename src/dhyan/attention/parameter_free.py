"""Parameter-free self-attention: Y = softmax(X Xᵀ) X, with nothing learned."""

from dhyan.attention.masks import all_positions
from dhyan.attention.multiplicative import DotScore
from dhyan.attention.protocol import Mask
from dhyan.attention.single_head import SingleHeadAttention


def parameter_free_attention(*, mask: Mask = all_positions) -> SingleHeadAttention:
    """Every vector is query, key and value at once."""
    return SingleHeadAttention(DotScore(), mask=mask)
