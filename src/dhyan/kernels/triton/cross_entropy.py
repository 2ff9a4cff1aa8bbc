"""Triton: fused output layer and cross-entropy or R-Drop, computed in chunks of tokens."""

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
    hidden: Float[Tensor, "R D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"] | None,
    labels: Int[Tensor, " N"],
    *,
    smoothing: float,
    ignore_index: int,
    r_drop: float = 0.0,
    chunk: int = CHUNK,
) -> Float[Tensor, ""]:
    """The cross-entropy of `hidden weightᵀ + bias`, summed over the labels that are not ignored.

    If there are two hidden vectors a label, those of two passes one after the other, it is the loss
    of R-Drop. The gradients are computed in the forward pass, so that the logits need not be saved.
    """
    dtype = product_dtype(hidden)
    with torch.autocast(hidden.device.type, enabled=False):
        return _LinearCrossEntropy.apply(
            hidden.to(dtype), weight, bias, labels, smoothing, ignore_index, r_drop, chunk
        )


class _LinearCrossEntropy(torch.autograd.Function):
    """For each chunk: logits, their loss, their gradient in place, the gradients of the layer."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "R D"],
        weight: Float[Tensor, "V D"],
        bias: Float[Tensor, " V"] | None,
        labels: Int[Tensor, " N"],
        smoothing: float,
        ignore_index: int,
        r_drop: float,
        chunk: int,
    ) -> Float[Tensor, ""]:
        table = weight.to(hidden.dtype)
        shift = None if bias is None else bias.to(hidden.dtype)
        needs_grad = any(ctx.needs_input_grad)
        count = len(labels)
        passes = hidden.unflatten(0, (-1, count))
        losses = torch.empty(count, dtype=torch.float32, device=hidden.device)
        grad_hidden, grad_weight, grad_bias = torch.empty_like(passes), None, None
        for rows in _chunks(count, len(passes) * len(weight), chunk):
            chunk_hidden = passes[:, rows].flatten(0, 1)
            logits = torch.nn.functional.linear(chunk_hidden, table, shift)
            chunk_labels, chunk_losses = labels[rows], losses[rows]
            if len(passes) == 2:
                pair_losses(
                    logits, chunk_labels, chunk_losses, r_drop, smoothing, ignore_index, needs_grad
                )
            else:
                row_losses(logits, chunk_labels, chunk_losses, smoothing, ignore_index, needs_grad)
            if not needs_grad:
                continue
            grad_hidden[:, rows] = torch.mm(logits, table).unflatten(0, (len(passes), -1))
            grad_weight = _accumulate(_float32_product(logits.t(), chunk_hidden), grad_weight)
            if bias is not None:
                grad_bias = _accumulate(logits.sum(dim=0, dtype=torch.float32), grad_bias)
        ctx.save_for_backward(grad_hidden.flatten(0, 1), grad_weight, grad_bias)
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
        return *grads, None, None, None, None, None


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


def pair_losses(
    logits: Float[Tensor, "R V"],
    labels: Int[Tensor, " N"],
    losses: Float[Tensor, " N"],
    r_drop: float,
    smoothing: float,
    ignore_index: int,
    needs_grad: bool,
) -> None:
    """Write R-Drop's loss of each pair of rows; if gradients are needed, they overwrite the logits."""
    count, width = len(labels), logits.shape[1]
    block = min(triton.next_power_of_2(width), 8192)
    _pair_loss_kernel[(count,)](
        logits,
        labels,
        losses,
        count,
        width,
        ignore_index,
        r_drop,
        smoothing,
        NEEDS_GRAD=needs_grad,
        BLOCK=block,
        num_warps=max(1, min(16, block // 512)),
    )


@triton.jit
@no_type_check
def _pair_loss_kernel(
    logits,
    labels,
    losses,
    count,
    width,
    ignore_index,
    r_drop,
    smoothing,
    NEEDS_GRAD: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Two rows x, y with p = softmax(x), q = softmax(y): ½ CE(x) + ½ CE(y) + ¼ α Σ (p − q) log(p/q).

    The divergence is KL(p‖q) + KL(q‖p); its gradient is p (log(p/q) − KL(p‖q)) + p − q on x, and
    the same with p and q exchanged on y.
    """
    row = tl.program_id(0).to(tl.int64)
    first = logits + row * width
    second = logits + (row + count) * width
    label = tl.load(labels + row)
    real = label != ignore_index
    label_logits = tl.load(first + label).to(tl.float32) + tl.load(second + label).to(tl.float32)
    columns = tl.arange(0, BLOCK)
    x_max, x_sum, y_max, y_sum, total = -float("inf"), 0.0, -float("inf"), 0.0, 0.0
    for start in range(0, width, BLOCK):
        inside = start + columns < width
        x = tl.load(first + start + columns, inside, other=-float("inf")).to(tl.float32)
        y = tl.load(second + start + columns, inside, other=-float("inf")).to(tl.float32)
        new_max = tl.maximum(x_max, tl.max(x, 0))
        x_sum = x_sum * tl.exp(x_max - new_max) + tl.sum(tl.exp(x - new_max), 0)
        x_max = new_max
        new_max = tl.maximum(y_max, tl.max(y, 0))
        y_sum = y_sum * tl.exp(y_max - new_max) + tl.sum(tl.exp(y - new_max), 0)
        y_max = new_max
        total += tl.sum(tl.where(inside, x + y, 0.0), 0)
    x_normalizer = x_max + tl.log(x_sum)
    y_normalizer = y_max + tl.log(y_sum)
    x_divergence, y_divergence = 0.0, 0.0
    for start in range(0, width, BLOCK):
        inside = start + columns < width
        log_p = tl.load(first + start + columns, inside, other=0.0).to(tl.float32) - x_normalizer
        log_q = tl.load(second + start + columns, inside, other=0.0).to(tl.float32) - y_normalizer
        log_ratio = tl.where(inside, log_p - log_q, 0.0)
        x_divergence += tl.sum(tl.exp(log_p) * log_ratio, 0)
        y_divergence -= tl.sum(tl.exp(log_q) * log_ratio, 0)
    loss = x_normalizer + y_normalizer - (1 - smoothing) * label_logits - smoothing * total / width
    loss = 0.5 * loss + 0.25 * r_drop * (x_divergence + y_divergence)
    tl.store(losses + row, tl.where(real, loss, 0.0))
    if NEEDS_GRAD:
        for start in range(0, width, BLOCK):
            inside = start + columns < width
            log_p = (
                tl.load(first + start + columns, inside, other=0.0).to(tl.float32) - x_normalizer
            )
            log_q = (
                tl.load(second + start + columns, inside, other=0.0).to(tl.float32) - y_normalizer
            )
            p, q, log_ratio = tl.exp(log_p), tl.exp(log_q), log_p - log_q
            target = smoothing / width + tl.where(start + columns == label, 1 - smoothing, 0.0)
            x_gradient = 0.5 * (p - target)
            x_gradient += 0.25 * r_drop * (p * (log_ratio - x_divergence) + p - q)
            y_gradient = 0.5 * (q - target)
            y_gradient += 0.25 * r_drop * (q * (-log_ratio - y_divergence) + q - p)
            element = logits.dtype.element_ty
            x_gradient = tl.where(real, x_gradient, 0.0).to(element)
            y_gradient = tl.where(real, y_gradient, 0.0).to(element)
            tl.store(first + start + columns, x_gradient, inside)
            tl.store(second + start + columns, y_gradient, inside)


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
