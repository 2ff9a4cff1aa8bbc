"""Fused projections: several linear layers of the same input as one matrix product."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from dhyan.kernels.backend import product_dtype


def packed_linear(x: Float[Tensor, "B N D"], layers: Sequence[nn.Linear]) -> tuple[Tensor, ...]:
    """The output of every layer: slices of one wide tensor, adjacent in memory.

    Gradients that are adjacent too are used without a copy.
    """
    dtype = product_dtype(x)
    with torch.autocast(x.device.type, enabled=False):
        weight, bias = (
            _stack([getattr(part, name).to(dtype) for part in layers])
            for name in ("weight", "bias")
        )
        widths = tuple(part.out_features for part in layers)
        return _PackedLinear.apply(x.to(dtype), weight, bias, widths)


class _PackedLinear(torch.autograd.Function):
    """x weightᵀ + bias, split into slices without a copy."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "B N D"],
        weight: Float[Tensor, "W D"],
        bias: Float[Tensor, " W"],
        widths: tuple[int, ...],
    ) -> tuple[Tensor, ...]:
        ctx.save_for_backward(x, weight)
        return functional.linear(x, weight, bias).split(widths, dim=-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_slices: Tensor) -> tuple[Tensor | None, ...]:
        from dhyan.kernels.triton.column_sum import column_sums

        x, weight = ctx.saved_tensors
        packed = pack(grad_slices).flatten(0, -2)
        grad_x = (packed @ weight).view_as(x)
        grad_bias = column_sums(packed, weight.dtype)
        return grad_x, packed.t() @ x.flatten(0, -2), grad_bias, None


def pack(slices: Sequence[Tensor]) -> Float[Tensor, "B N W"]:
    """Slices as one tensor: the one they were split from, if they are all of it and in order."""
    if not are_adjacent(slices):
        return torch.cat(list(slices), dim=-1)
    first, width = slices[0], sum(part.shape[-1] for part in slices)
    return first.as_strided((*first.shape[:-1], width), first.stride())


def are_adjacent(slices: Sequence[Tensor]) -> bool:
    """Whether slices fill the rows of one block of memory, in order and without gaps."""
    first, width = slices[0], sum(part.shape[-1] for part in slices)
    item_size = first.element_size()
    strides = _strides((*first.shape[:-1], width))
    pointer = first.data_ptr()
    for part in slices:
        same = part.dtype == first.dtype and part.shape[:-1] == first.shape[:-1]
        if not same or part.stride() != strides or part.data_ptr() != pointer:
            return False
        pointer += part.shape[-1] * item_size
    return first.untyped_storage().data_ptr() == slices[-1].untyped_storage().data_ptr()


def empty_like_layout(slices: Sequence[Tensor]) -> list[Tensor]:
    """New tensors of the same shapes, adjacent if the given ones are."""
    if not are_adjacent(slices):
        return [torch.empty_like(part, memory_format=torch.contiguous_format) for part in slices]
    widths = [part.shape[-1] for part in slices]
    packed = slices[0].new_empty((*slices[0].shape[:-1], sum(widths)))
    return list(packed.split(widths, dim=-1))


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return torch.empty(shape, device="meta").stride()


def _stack(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
