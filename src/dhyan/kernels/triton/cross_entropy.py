"""Triton: fused output layer and cross-entropy, computed in chunks of tokens."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.backend import product_dtype

CHUNK = 2**29  # logits held at a time: a gigabyte in half precision


def linear_cross_entropy(
    hidden: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"] | None,
    labels: Int[Tensor, " N"],
    *,
    smoothing: float,
    ignore_index: int,
    chunk: int = CHUNK,
) -> Float[Tensor, ""]:
    """The cross-entropy of `hidden weightᵀ + bias`, summed over the labels that are not ignored.

    The gradients are computed in the forward pass, so that the logits need not be saved.
    """
    dtype = product_dtype(hidden)
    with torch.autocast(hidden.device.type, enabled=False):
        return _LinearCrossEntropy.apply(
            hidden.to(dtype), weight, bias, labels, smoothing, ignore_index, chunk
        )


class _LinearCrossEntropy(torch.autograd.Function):
    """For each chunk: logits, their loss, their gradient in place, the gradients of the layer."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "N D"],
        weight: Float[Tensor, "V D"],
        bias: Float[Tensor, " V"] | None,
        labels: Int[Tensor, " N"],
        smoothing: float,
        ignore_index: int,
        chunk: int,
    ) -> Float[Tensor, ""]:
        table = weight.to(hidden.dtype)
        shift = None if bias is None else bias.to(hidden.dtype)
        needs_grad = any(ctx.needs_input_grad)
        losses = torch.empty(len(hidden), dtype=torch.float32, device=hidden.device)
        grad_hidden, grad_weight, grad_bias = torch.empty_like(hidden), None, None
        for rows in _chunks(len(hidden), len(weight), chunk):
            chunk_hidden = hidden[rows]
            logits = torch.nn.functional.linear(chunk_hidden, table, shift)
            row_losses(logits, labels[rows], losses[rows], smoothing, ignore_index, needs_grad)
            if not needs_grad:
                continue
            torch.mm(logits, table, out=grad_hidden[rows])
            grad_weight = _accumulate(_float32_product(logits.t(), chunk_hidden), grad_weight)
            if bias is not None:
                grad_bias = _accumulate(logits.sum(dim=0, dtype=torch.float32), grad_bias)
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        ctx.dtypes = weight.dtype, None if bias is None else bias.dtype
        return losses.sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_loss: Float[Tensor, ""]) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_weight, grad_bias = ctx.saved_tensors
        dtypes = grad_hidden.dtype, *ctx.dtypes
        grads = (
            None if part is None else (part * grad_loss.to(part.dtype)).to(dtype)
            for part, dtype in zip((grad_hidden, grad_weight, grad_bias), dtypes, strict=True)
        )
        return *grads, None, None, None, None


def row_losses(
    logits: Float[Tensor, "N V"],
    labels: Int[Tensor, " N"],
    losses: Float[Tensor, " N"],
    smoothing: float,
    ignore_index: int,
    needs_grad: bool,
) -> None:
    """Write each row's loss; if gradients are needed, they overwrite the logits."""
    count, width = logits.shape
    block = min(triton.next_power_of_2(width), 8192)
    _row_loss_kernel[(count,)](
        logits,
        labels,
        losses,
        width,
        ignore_index,
        smoothing,
        NEEDS_GRAD=needs_grad,
        BLOCK=block,
        num_warps=max(1, min(16, block // 512)),
    )


@triton.jit
@no_type_check
def _row_loss_kernel(
    logits,
    labels,
    losses,
    width,
    ignore_index,
    smoothing,
    NEEDS_GRAD: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One row: log Σ exp(x) − (1 − ε) x_label − ε mean(x), and its gradient."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * width
    label = tl.load(labels + row)
    real = label != ignore_index
    label_logit = tl.load(logits + label).to(tl.float32)
    columns = tl.arange(0, BLOCK)
    row_max, exp_sum, total = -float("inf"), 0.0, 0.0
    for start in range(0, width, BLOCK):
        inside = start + columns < width
        x = tl.load(logits + start + columns, inside, other=-float("inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, 0))
        exp_sum = exp_sum * tl.exp(row_max - new_max) + tl.sum(tl.exp(x - new_max), 0)
        total += tl.sum(tl.where(inside, x, 0.0), 0)
        row_max = new_max
    loss = row_max + tl.log(exp_sum) - (1 - smoothing) * label_logit - smoothing * total / width
    tl.store(losses + row, tl.where(real, loss, 0.0))
    if NEEDS_GRAD:
        inverse_sum = 1 / exp_sum
        for start in range(0, width, BLOCK):
            inside = start + columns < width
            x = tl.load(logits + start + columns, inside, other=-float("inf")).to(tl.float32)
            gradient = tl.exp(x - row_max) * inverse_sum - smoothing / width
            gradient -= tl.where(start + columns == label, 1 - smoothing, 0.0)
            gradient = tl.where(real, gradient, 0.0)
            tl.store(logits + start + columns, gradient.to(logits.dtype.element_ty), inside)


def _chunks(count: int, width: int, chunk: int) -> list[slice]:
    """Rows in as few equal parts as hold at most `chunk` logits each."""
    parts = max(1, -(-count * width // chunk))
    step = max(1, -(-count // parts))
    return [slice(start, start + step) for start in range(0, count, step)]


def _float32_product(
    left: Float[Tensor, "V N"], right: Float[Tensor, "N D"]
) -> Float[Tensor, "V D"]:
    """A matrix product in single precision, whatever the dtype of its factors."""
    if left.is_cuda and left.dtype != torch.float32:
        return torch.mm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()


def _accumulate(new: Tensor, before: Tensor | None) -> Tensor:
    return new if before is None else before.add_(new)
