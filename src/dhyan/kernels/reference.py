"""The definitions: attention in plain PyTorch, written to be read."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional


def mix(
    scores: Float[Tensor, "*H T S"],
    values: Float[Tensor, "*H S E"],
    seen: Bool[Tensor, "*#H T S"] | Float[Tensor, "*#H T S"],
    *,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*H T E"], Float[Tensor, "*H T S"]]:
    """Turn scores into weights and average the values by them.

    What is seen by halves keeps half its weight; a score of −∞ is not seen. A query that may see
    nothing gets zeros, never NaN. Dropout leaves out some of the weights, not of those returned.
    """
    hidden = (seen == 0) | scores.isneginf()
    weights = exact(scores).masked_fill(hidden, -torch.inf).softmax(dim=-1)
    weights = weights.masked_fill(hidden, 0.0)
    if seen.is_floating_point():
        weights = weights * seen
    weights = weights.to(values.dtype)
    return functional.dropout(weights, dropout) @ values, weights


def exact(numbers: Float[Tensor, "*A"]) -> Float[Tensor, "*A"]:
    """The same numbers in single precision at least: sums of many need it."""
    return numbers.to(torch.promote_types(numbers.dtype, torch.float32))


def dot_scores(
    query: Float[Tensor, "*H T E"], keys: Float[Tensor, "*H S E"]
) -> Float[Tensor, "*H T S"]:
    """score(q, k) = q · k  (Luong, Pham and Manning, 2015)."""
    return query @ keys.transpose(-2, -1)


def scaled_dot_scores(
    query: Float[Tensor, "*H T E"], keys: Float[Tensor, "*H S E"]
) -> Float[Tensor, "*H T S"]:
    """score(q, k) = q · k / √E  (Vaswani et al., 2017)."""
    return dot_scores(query * query.shape[-1] ** -0.5, keys)


def additive_scores(
    query: Float[Tensor, "*H T A"],
    keys: Float[Tensor, "*H S A"],
    energy: Float[Tensor, " A"],
) -> Float[Tensor, "*H T S"]:
    """score(q, k) = energy · tanh(q + k)  (Bahdanau, Cho and Bengio, 2015)."""
    return torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)) @ energy
