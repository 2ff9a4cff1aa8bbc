"""Parameter-free self-attention: Y = softmax(X Xᵀ) X, general and learned from nothing."""

from dhyan.attention.masks import everything
from dhyan.attention.multiplicative import DotScore
from dhyan.attention.protocol import Sight
from dhyan.attention.single_head import SingleHeadAttention


def plain(*, sees: Sight = everything) -> SingleHeadAttention:
    """Every vector is query, key and value at once; ask it with the states it remembers."""
    return SingleHeadAttention(DotScore(), sees=sees)
