"""Weights in half precision for the length of a step, copied and paid back all at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


@contextmanager
def bf16_linear_weights(model: nn.Module) -> Iterator[None]:
    """Inside the block every linear map has its weights in bfloat16, as autocast would cast them.

    Their gradients reach the model's own weights, which keep full precision. A map tied to an
    embedding keeps its weight as it is: the largest gradient of all is spared the way through half.
    """
    tables = [part.weight for part in model.modules() if isinstance(part, nn.Embedding)]
    places = [
        (part._parameters, name)
        for part in model.modules()
        if isinstance(part, nn.Linear)
        for name, weight in part.named_parameters(recurse=False)
        if weight.dtype == torch.float32 and not any(weight is table for table in tables)
    ]
    own = [weights[name] for weights, name in places]
    try:
        for (weights, name), copy in zip(places, _Halved.apply(*own), strict=True):
            weights[name] = copy
        yield
    finally:
        for (weights, name), weight in zip(places, own, strict=True):
            weights[name] = weight


class _Halved(torch.autograd.Function):
    """One call for all weights, and one for all gradients."""

    @staticmethod
    def forward(ctx: Any, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        return tuple(_cast(weights, torch.bfloat16))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *of_copies: Tensor | None) -> tuple[Tensor | None, ...]:
        given = [one for one in of_copies if one is not None]
        cast = iter(_cast(given, torch.float32))
        return tuple(None if one is None else next(cast) for one in of_copies)


def _cast(tensors: tuple[Tensor, ...] | list[Tensor], kind: torch.dtype) -> list[Tensor]:
    cast = [torch.empty_like(one, dtype=kind) for one in tensors]
    torch._foreach_copy_(cast, list(tensors))
    return cast
