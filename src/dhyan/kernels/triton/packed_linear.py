"""Linear maps of the same vectors as one product, forwards and backwards."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional


def joined_linear(x: Float[Tensor, "B N D"], maps: Sequence[nn.Linear]) -> tuple[Tensor, ...]:
    """What each map makes of x: slices of one wide result, which lie side by side in memory.

    Gradients that lie side by side too are taken as they lie.
    """
    device = x.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
    with torch.autocast(device, enabled=False):
        weight, bias = (
            _stacked([getattr(one, name).to(kind) for one in maps]) for name in ("weight", "bias")
        )
        widths = tuple(one.out_features for one in maps)
        return _Joined.apply(x.to(kind), weight, bias, widths)


class _Joined(torch.autograd.Function):
    """x weightᵀ + bias, cut into slices; none is ever copied."""

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
    def backward(ctx: Any, *of_slices: Tensor) -> tuple[Tensor | None, ...]:
        from dhyan.kernels.triton.column_sum import column_sums

        x, weight = ctx.saved_tensors
        whole = together(of_slices).flatten(0, -2)
        of_x = (whole @ weight).view_as(x)
        of_bias = column_sums(whole, weight.dtype)
        return of_x, whole.t() @ x.flatten(0, -2), of_bias, None


def together(slices: Sequence[Tensor]) -> Float[Tensor, "B N W"]:
    """Slices as one tensor: the one they were cut from, if they are all of it and in order."""
    if not side_by_side(slices):
        return torch.cat(list(slices), dim=-1)
    first, width = slices[0], sum(one.shape[-1] for one in slices)
    return first.as_strided((*first.shape[:-1], width), first.stride())


def side_by_side(slices: Sequence[Tensor]) -> bool:
    """Whether slices fill the rows of one piece of memory, in order and without gaps."""
    first, width = slices[0], sum(one.shape[-1] for one in slices)
    step = first.element_size()
    wanted = _strides((*first.shape[:-1], width))
    place = first.data_ptr()
    for one in slices:
        same = one.dtype == first.dtype and one.shape[:-1] == first.shape[:-1]
        if not same or one.stride() != wanted or one.data_ptr() != place:
            return False
        place += one.shape[-1] * step
    return first.untyped_storage().data_ptr() == slices[-1].untyped_storage().data_ptr()


def laid_alike(slices: Sequence[Tensor]) -> list[Tensor]:
    """New tensors of the same shapes, side by side if the ones given are."""
    if not side_by_side(slices):
        return [torch.empty_like(one, memory_format=torch.contiguous_format) for one in slices]
    widths = [one.shape[-1] for one in slices]
    whole = slices[0].new_empty((*slices[0].shape[:-1], sum(widths)))
    return list(whole.split(widths, dim=-1))


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    return torch.empty(shape, device="meta").stride()


def _stacked(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
