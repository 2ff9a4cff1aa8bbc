"""Kernels that go from query to context in one call and never hold the weights."""

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def dot_attention(
    query: Float[Tensor, "B H T E"],
    keys: Float[Tensor, "B H S E"],
    values: Float[Tensor, "B H S V"],
    seen: Bool[Tensor, "B 1 T S"],
    *,
    scale: float | None,
) -> Float[Tensor, "B H T V"]:
    """Dot-product attention by PyTorch's kernels; `scale` None divides by √E.

    Some of them give rows that see nothing made-up numbers, so such rows see all and are zeroed.
    """
    seeing = seen.any(dim=-1, keepdim=True)
    context = scaled_dot_product_attention(query, keys, values, seen | ~seeing, scale=scale)
    return context.masked_fill(~seeing, 0.0)
