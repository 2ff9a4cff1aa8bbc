"""`attend`: attention of query, keys and values as one function, returning context and weights."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dhyan.kernels import ops

Numbers = Tensor | Sequence[object]


class AttentionResult(NamedTuple):
    """The context of each query, and its weights over the keys."""

    context: Float[Tensor, "*B T V"]
    weights: Float[Tensor, "*B T S"]


SCORES = {"dot": ops.dot_scores, "scaled_dot": ops.scaled_dot_scores}


def attend(
    query: Numbers,
    keys: Numbers,
    values: Numbers,
    *,
    score: str | Callable[[Tensor, Tensor], Tensor] = "scaled_dot",
    mask: Numbers | None = None,
    causal: bool = False,
) -> AttentionResult:
    """Average `values` (… S V), weighted by the scores of `query` (… T E) and `keys` (… S E).

    `score` is "scaled_dot", "dot" or a function of query and keys. `mask` is True where a query may
    attend and broadcasts against the weights (… T S); `causal` masks the keys after the query.
    A query that may attend to nothing gets zeros, never NaN.

    >>> attend([[1, 0]], [[1, 0], [0, 1]], [[10.0], [20.0]], score="dot").context
    tensor([[12.6894]])
    """
    q, k, v = _to_float(query), _to_float(keys), _to_float(values)
    _check_shapes(q, k, v, dot_product=isinstance(score, str))
    scores = _score_function(score)(q, k)
    allowed = _broadcast_mask(scores, mask, causal)
    return AttentionResult(*ops.attend(scores, v.to(scores.dtype), allowed))


def _to_float(numbers: Numbers) -> Tensor:
    tensor = torch.as_tensor(numbers)
    return tensor if tensor.is_floating_point() else tensor.to(torch.get_default_dtype())


def _check_shapes(query: Tensor, keys: Tensor, values: Tensor, *, dot_product: bool) -> None:
    if min(query.ndim, keys.ndim, values.ndim) < 2:
        raise ValueError("query, keys and values need at least two dimensions: one row per word")
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(f"{keys.shape[-2]} keys but {values.shape[-2]} values: one value per key")
    if dot_product and query.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"queries are {query.shape[-1]} wide and keys {keys.shape[-1]}: a dot product needs "
            f"equal widths; project one of them, or give a score function of your own"
        )
    if not query.shape[:-2] == keys.shape[:-2] == values.shape[:-2]:
        shapes = ", ".join(str(tuple(t.shape)) for t in (query, keys, values))
        raise ValueError(f"query, keys and values differ in their leading axes: {shapes}")


def _score_function(
    score: str | Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, Tensor], Tensor]:
    if callable(score):
        return score
    if score not in SCORES:
        names = ", ".join(map(repr, SCORES))
        raise ValueError(f"no score {score!r}: it is one of {names}, or a function of your own")
    return SCORES[score]


def _broadcast_mask(
    scores: Float[Tensor, "*B T S"], mask: Numbers | None, causal: bool
) -> Bool[Tensor, "*B T S"]:
    allowed = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None:
        try:
            boolean = torch.as_tensor(mask, dtype=torch.bool, device=scores.device)
            allowed = boolean.expand_as(scores)
        except RuntimeError:
            shape, weights = tuple(torch.as_tensor(mask).shape), tuple(scores.shape)
            raise ValueError(f"mask {shape} does not broadcast to the weights {weights}") from None
    if causal:
        allowed = allowed.tril(allowed.shape[-1] - allowed.shape[-2])
    return allowed
