"""Maxout (Goodfellow et al., 2013): the larger of every two neighbours."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 1024


class Maxout(torch.autograd.Function):
    """The gradient goes to the larger input; ties split it."""

    @staticmethod
    def forward(ctx: Any, pairs: Float[Tensor, "*B K"]) -> Float[Tensor, "*B R"]:
        """The larger of each pair."""
        pairs = pairs.contiguous()
        larger = pairs.new_empty(*pairs.shape[:-1], pairs.shape[-1] // 2)
        count = larger.numel()
        _larger[(triton.cdiv(count, BLOCK),)](pairs, larger, count, BLOCK=BLOCK)
        ctx.save_for_backward(pairs)
        return larger

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dlarger: Float[Tensor, "*B R"]) -> Float[Tensor, "*B K"]:
        """The gradient of each pair."""
        (pairs,) = ctx.saved_tensors
        dpairs, count = torch.empty_like(pairs), dlarger.numel()
        _larger_back[(triton.cdiv(count, BLOCK),)](
            pairs, dlarger.contiguous(), dpairs, count, BLOCK=BLOCK
        )
        return dpairs


@triton.jit
@no_type_check
def _larger(pairs, larger, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    pairs_at = offsets[:, None] * 2 + tl.arange(0, 2)[None, :]
    first, second = tl.split(tl.load(pairs + pairs_at, inside[:, None], 0.0))
    larger_of_two = tl.maximum(first, second, propagate_nan=tl.PropagateNan.ALL)
    tl.store(larger + offsets, larger_of_two, inside)


@triton.jit
@no_type_check
def _larger_back(pairs, dlarger, dpairs, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    pairs_at = offsets[:, None] * 2 + tl.arange(0, 2)[None, :]
    first, second = tl.split(tl.load(pairs + pairs_at, inside[:, None], 0.0).to(tl.float32))
    grad = tl.load(dlarger + offsets, inside, 0.0).to(tl.float32)
    share = tl.where(first > second, 1.0, tl.where(first < second, 0.0, 0.5))
    grads = tl.join(grad * share, grad - grad * share)
    tl.store(dpairs + pairs_at, grads.to(dpairs.dtype.element_ty), inside[:, None])
