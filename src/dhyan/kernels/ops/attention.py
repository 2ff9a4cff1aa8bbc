"""Attention operations for models: additive and dot-product, by reference code or Triton kernel."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from dhyan.kernels import reference
from dhyan.kernels.backend import fusable, use_training_kernels, use_triton

Attention = tuple[Float[Tensor, "B H T E"], Float[Tensor, "B H T S"] | None]
"""The context of every head, and its weights unless a fused kernel never stored them."""

Mask = Bool[Tensor, "#B #H T S"] | Float[Tensor, "#B #H T S"]


def dot_product_attention(
    query: Float[Tensor, "B H T E"],
    keys: Float[Tensor, "B G S E"],
    values: Float[Tensor, "B G S V"],
    mask: Bool[Tensor, "B S"] | Mask,
    *,
    causal: bool = False,
    scaled: bool = True,
    bias: Float[Tensor, "#B #H T S"] | None = None,
    dropout: float = 0.0,
    training: bool = False,
    need_weights: bool = False,
) -> Attention:
    """softmax(q kᵀ / √E + bias) v in every head (Vaswani et al., 2017); unscaled, Luong's dot.

    `mask` is a padding mask (B S), to which `causal` adds the future, or says for every query what
    it may attend to. With fewer heads of keys than of queries, several queries share one.
    """
    if mask.ndim == 2:
        if not (dropout or need_weights) and use_training_kernels(training, query):
            from dhyan.kernels.triton.short_attention import is_short, short_attention

            if is_short(query, keys, values):
                factor = query.shape[-1] ** -0.5 if scaled else 1.0
                context = short_attention(query, keys, values, mask, causal=causal, scale=factor)
                return context, None
        mask = reference.position_mask(mask, query.shape[2], causal=causal)
    keys, values = _per_head(keys, query.shape[1]), _per_head(values, query.shape[1])
    if fusable() and not need_weights and mask.dtype == torch.bool:
        scale = None if scaled else 1.0  # None divides by √E
        context = _torch_attention(
            query, keys, values, mask, scale=scale, bias=bias, dropout=dropout
        )
        return context, None
    return reference.dot_product_attention(
        query, keys, values, mask, scaled=scaled, bias=bias, dropout=dropout
    )


def additive_attention(
    query: Float[Tensor, "B H T A"],
    keys: Float[Tensor, "B G S A"],
    values: Float[Tensor, "B G S E"],
    energy: Float[Tensor, " A"],
    mask: Mask,
    *,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> Attention:
    """softmax(energy · tanh(q + k)) v in every head (Bahdanau, Cho and Bengio, 2015)."""
    keys, values = _per_head(keys, query.shape[1]), _per_head(values, query.shape[1])
    fused = not (dropout or need_weights) and mask.dtype == torch.bool
    if fused and _additive_kernel(query, keys):
        from dhyan.kernels.triton import additive_attention as triton_additive

        return triton_additive.additive_attention(query, keys, values, energy, mask), None
    scores = additive_scores(query, keys, energy)
    return reference.attend(scores, values, mask, dropout=dropout)


def additive_scores(
    query: Float[Tensor, "B H T A"], keys: Float[Tensor, "B G S A"], energy: Float[Tensor, " A"]
) -> Float[Tensor, "B H T S"]:
    """score(q, k) = energy · tanh(q + k)  (Bahdanau, Cho and Bengio, 2015)."""
    if not _additive_kernel(query, keys):
        return reference.additive_scores(query, keys, energy)
    from dhyan.kernels.triton import additive_attention as triton_additive

    return triton_additive.additive_scores(query, keys, energy)


def _additive_kernel(query: Tensor, keys: Tensor) -> bool:
    """Whether there is something to compute, in single precision or less."""
    nonempty = query.numel() > 0 and keys.numel() > 0
    return use_triton(keys) and nonempty and torch.float64 not in (query.dtype, keys.dtype)


def _per_head(x: Float[Tensor, "B G S E"], heads: int) -> Float[Tensor, "B H S E"]:
    """Keys or values repeated for the query heads that share them (Ainslie et al., 2023)."""
    groups = x.shape[1]
    return x if groups == heads else x.repeat_interleave(heads // groups, dim=1)


def _torch_attention(
    query: Float[Tensor, "B H T E"],
    keys: Float[Tensor, "B H S E"],
    values: Float[Tensor, "B H S V"],
    mask: Bool[Tensor, "#B #H T S"],
    *,
    scale: float | None,
    bias: Float[Tensor, "#B #H T S"] | None,
    dropout: float,
) -> Float[Tensor, "B H T V"]:
    """By PyTorch's kernels, which never store the weights.

    Some of them return arbitrary numbers for rows that are masked entirely, so such rows attend to
    everything and are set to zero afterwards.
    """
    attending = mask.any(dim=-1, keepdim=True)
    mask = mask | ~attending
    if bias is not None:
        mask = bias.to(query.dtype).masked_fill(~mask, -torch.inf)
    context = scaled_dot_product_attention(query, keys, values, mask, dropout, scale=scale)
    return context.masked_fill(~attending, 0.0)
