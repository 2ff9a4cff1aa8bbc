"""Maxout (Goodfellow et al., 2013): of every two neighbours the larger."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

SIZE = 1024


class Maxout(torch.autograd.Function):
    """What the larger of two owes it pays alone; equals share."""

    @staticmethod
    def forward(ctx: Any, pairs: Float[Tensor, "*B K"]) -> Float[Tensor, "*B R"]:
        """The larger of each pair."""
        pairs = pairs.contiguous()
        larger = pairs.new_empty(*pairs.shape[:-1], pairs.shape[-1] // 2)
        count = larger.numel()
        _larger[(triton.cdiv(count, SIZE),)](pairs, larger, count, SIZE=SIZE)
        ctx.save_for_backward(pairs)
        return larger

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dlarger: Float[Tensor, "*B R"]) -> Float[Tensor, "*B K"]:
        """To the larger of each pair."""
        (pairs,) = ctx.saved_tensors
        dpairs, count = torch.empty_like(pairs), dlarger.numel()
        _larger_back[(triton.cdiv(count, SIZE),)](
            pairs, dlarger.contiguous(), dpairs, count, SIZE=SIZE
        )
        return dpairs


@triton.jit
@no_type_check
def _larger(pairs, larger, count, SIZE: tl.constexpr):
    places = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    there = places < count
    both = places[:, None] * 2 + tl.arange(0, 2)[None, :]
    one, other = tl.split(tl.load(pairs + both, there[:, None], 0.0))
    most = tl.maximum(one, other, propagate_nan=tl.PropagateNan.ALL)
    tl.store(larger + places, most, there)


@triton.jit
@no_type_check
def _larger_back(pairs, dlarger, dpairs, count, SIZE: tl.constexpr):
    places = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    there = places < count
    both = places[:, None] * 2 + tl.arange(0, 2)[None, :]
    one, other = tl.split(tl.load(pairs + both, there[:, None], 0.0).to(tl.float32))
    owed = tl.load(dlarger + places, there, 0.0).to(tl.float32)
    share = tl.where(one > other, 1.0, tl.where(one < other, 0.0, 0.5))
    found = tl.join(owed * share, owed - owed * share)
    tl.store(dpairs + both, found.to(dpairs.dtype.element_ty), there[:, None])
