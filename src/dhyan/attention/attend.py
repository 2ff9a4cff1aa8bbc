"""Attention as one function, for people with numbers in their hands."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dhyan.kernels.reference import dot_scores, mix, scaled_dot_scores

Numbers = Tensor | Sequence[object]


class Answer(NamedTuple):
    """What was found for each query, and how much of each value is in it."""

    context: Float[Tensor, "*B T V"]
    weights: Float[Tensor, "*B T S"]


SCORES = {"dot": dot_scores, "scaled_dot": scaled_dot_scores}


def attend(
    query: Numbers,
    keys: Numbers,
    values: Numbers,
    *,
    score: str | Callable[[Tensor, Tensor], Tensor] = "scaled_dot",
    mask: Numbers | None = None,
    causal: bool = False,
) -> Answer:
    """Look `query` (… T E) up in `keys` (… S E) and mix `values` (… S V) by the weights.

    `score` is "scaled_dot", "dot" or a function of query and keys. `mask` is True where a key may
    be seen and broadcasts against the weights (… T S); `causal` hides what comes after the query.
    A row that may see nothing gets zeros, never NaN.

    >>> attend([[1, 0]], [[1, 0], [0, 1]], [[10.0], [20.0]], score="dot").context
    tensor([[12.6894]])
    """
    asked, known, told = _numbers(query), _numbers(keys), _numbers(values)
    _check(asked, known, told, named=isinstance(score, str))
    scores = _scorer(score)(asked, known)
    return Answer(*mix(scores, told.to(scores.dtype), _visible(scores, mask, causal)))


def _numbers(given: Numbers) -> Tensor:
    numbers = torch.as_tensor(given)
    return numbers if numbers.is_floating_point() else numbers.to(torch.get_default_dtype())


def _check(query: Tensor, keys: Tensor, values: Tensor, *, named: bool) -> None:
    if min(query.ndim, keys.ndim, values.ndim) < 2:
        raise ValueError("query, keys and values are tables: one row per word, at least 2-D")
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError(f"{keys.shape[-2]} keys but {values.shape[-2]} values: one value per key")
    if named and query.shape[-1] != keys.shape[-1]:
        raise ValueError(
            f"queries are {query.shape[-1]} wide and keys {keys.shape[-1]}: a dot product needs "
            f"equal widths; bring both to one, or give a score of your own"
        )
    if not query.shape[:-2] == keys.shape[:-2] == values.shape[:-2]:
        shapes = ", ".join(str(tuple(t.shape)) for t in (query, keys, values))
        raise ValueError(f"query, keys and values differ in their leading axes: {shapes}")


def _scorer(score: str | Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    if callable(score):
        return score
    if score not in SCORES:
        known = ", ".join(map(repr, SCORES))
        raise ValueError(f"no score {score!r}: it is one of {known}, or a function of your own")
    return SCORES[score]


def _visible(
    scores: Float[Tensor, "*B T S"], mask: Numbers | None, causal: bool
) -> Bool[Tensor, "*B T S"]:
    seen = torch.ones_like(scores, dtype=torch.bool)
    if mask is not None:
        try:
            seen = torch.as_tensor(mask, dtype=torch.bool, device=scores.device).expand_as(scores)
        except RuntimeError:
            found, wanted = tuple(torch.as_tensor(mask).shape), tuple(scores.shape)
            raise ValueError(f"mask {found} does not broadcast to the weights {wanted}") from None
    if causal:
        seen = seen.tril(seen.shape[-1] - seen.shape[-2])
    return seen
