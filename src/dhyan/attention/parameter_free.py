"""Parameter-free self-attention: Y = softmax(X Xᵀ) X, with nothing learned.

It is the form in which self-attention is usually introduced, and a baseline for what projections
add. Encoders use it with `self_attention = "parameter_free"`; it is no score of the registry.
"""

from dhyan.attention.masks import all_positions
from dhyan.attention.multiplicative import DotScore
from dhyan.attention.protocol import Mask
from dhyan.attention.single_head import SingleHeadAttention


def parameter_free_attention(*, mask: Mask = all_positions) -> SingleHeadAttention:
    """Each vector is query, key and value at once, when called by `self_attend`."""
    return SingleHeadAttention(DotScore(), mask=mask)
