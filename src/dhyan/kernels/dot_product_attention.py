"""Kernels that go from query to context in one call and never hold the weights."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def dot_attention(
    query: Float[Tensor, "B H T E"],
    keys: Float[Tensor, "B H S E"],
    values: Float[Tensor, "B H S V"],
    seen: Bool[Tensor, "#B #H T S"],
    *,
    scale: float | None,
    dropout: float = 0.0,
    bias: Float[Tensor, "#B #H T S"] | None = None,
) -> Float[Tensor, "B H T V"]:
    """Dot-product attention by PyTorch's kernels; `scale` None divides by √E, a bias is added.

    Some of them give rows that see nothing made-up numbers, so such rows see all and are zeroed.
    """
    seeing = seen.any(dim=-1, keepdim=True)
    mask = seen | ~seeing
    if bias is not None:
        mask = bias.to(query.dtype).masked_fill(~mask, -torch.inf)
    context = scaled_dot_product_attention(query, keys, values, mask, dropout, scale=scale)
    return context.masked_fill(~seeing, 0.0)
