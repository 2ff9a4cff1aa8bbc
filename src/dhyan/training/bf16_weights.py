"""bfloat16 copies of the weights for one forward and backward pass, cast in one call."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


@contextmanager
def bf16_linear_weights(model: nn.Module) -> Iterator[None]:
    """Inside the block every linear layer has bfloat16 weights, as autocast would cast them.

    The gradients reach the model's own float32 weights. A layer tied to an embedding keeps its
    float32 weight, so that the largest gradient is not rounded to bfloat16.
    """
    embeddings = [module.weight for module in model.modules() if isinstance(module, nn.Embedding)]
    parameters = [
        (module._parameters, name)
        for module in model.modules()
        if isinstance(module, nn.Linear)
        for name, weight in module.named_parameters(recurse=False)
        if weight.dtype == torch.float32 and not any(weight is tied for tied in embeddings)
    ]
    originals = [weights[name] for weights, name in parameters]
    try:
        copies = _ToBfloat16.apply(*originals)
        for (weights, name), copy in zip(parameters, copies, strict=True):
            weights[name] = copy
        yield
    finally:
        for (weights, name), weight in zip(parameters, originals, strict=True):
            weights[name] = weight


class _ToBfloat16(torch.autograd.Function):
    """Casts all weights in one call, and all gradients in another."""

    @staticmethod
    def forward(ctx: Any, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        return tuple(_cast(weights, torch.bfloat16))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        cast = iter(_cast([grad for grad in gradients if grad is not None], torch.float32))
        return tuple(None if grad is None else next(cast) for grad in gradients)


def _cast(tensors: tuple[Tensor, ...] | list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    cast = [torch.empty_like(tensor, dtype=dtype) for tensor in tensors]
    torch._foreach_copy_(cast, list(tensors))
    return cast
