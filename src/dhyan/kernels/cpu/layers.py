"""Cross-entropy, residual sum with layer norm, and dropout on a CPU; forward and backward pass."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dhyan.kernels.backend import product_dtype
from dhyan.kernels.cpu.library import call, pointer

CHUNK = 512  # rows of logits at a time, which stay in the cache
ROWS = 64  # rows of a chunk are a multiple of this, so that products have few shapes


def linear_cross_entropy(
    hidden: Float[Tensor, "N D"],
    output: nn.Linear,
    labels: Int[Tensor, " N"],
    *,
    smoothing: float,
    ignore_index: int,
) -> Float[Tensor, ""]:
    """Cross-entropy of output(hidden), summed over the labels that are not ignored.

    The gradients are computed in the forward pass, so that the logits need not be saved; rows of
    ignored labels are left out.
    """
    dtype = product_dtype(hidden)
    with torch.autocast("cpu", enabled=False):
        return _LinearCrossEntropy.apply(
            hidden.to(dtype), output.weight, output.bias, labels, smoothing, ignore_index
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
    ) -> Float[Tensor, ""]:
        rows = (labels != ignore_index).nonzero().squeeze(1)
        real, count = hidden[rows], len(rows)
        table = weight.to(hidden.dtype)
        shift = None if bias is None else bias.to(hidden.dtype)
        needs_grad = any(ctx.needs_input_grad)
        padded = -(-count // ROWS) * ROWS
        inputs = hidden.new_zeros(padded, hidden.shape[1])
        inputs[:count] = real
        targets = labels.new_full((padded,), ignore_index)
        targets[:count] = labels[rows]
        losses = torch.empty(padded, dtype=torch.float32)
        grads = torch.empty_like(inputs)
        grad_weight = torch.zeros_like(weight, dtype=torch.float32)
        grad_bias = None if bias is None else torch.zeros_like(bias, dtype=torch.float32)
        for begin in range(0, padded, CHUNK):
            part = slice(begin, begin + CHUNK)
            logits = nn.functional.linear(inputs[part], table, shift)
            cross_entropy_(logits, targets[part], losses[part], smoothing, ignore_index)
            if not needs_grad:
                continue
            torch.mm(logits, table, out=grads[part])
            if logits.dtype == torch.float32:
                grad_weight.addmm_(logits.t(), inputs[part])
            else:
                grad_weight += logits.t() @ inputs[part]
            if grad_bias is not None:
                grad_bias += logits.sum(dim=0, dtype=torch.float32)
        grad_hidden = torch.zeros_like(hidden)
        grad_hidden[rows] = grads[:count]
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        ctx.dtypes = hidden.dtype, weight.dtype, None if bias is None else bias.dtype
        return losses.sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_loss: Float[Tensor, ""]) -> tuple[Tensor | None, ...]:
        grads = (
            None if part is None else (part * grad_loss.to(part.dtype)).to(dtype)
            for part, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        )
        return *grads, None, None, None


def cross_entropy_(
    logits: Float[Tensor, "N V"],
    labels: Int[Tensor, " N"],
    losses: Float[Tensor, " N"],
    smoothing: float,
    ignore_index: int,
) -> None:
    """Write each row's loss; its gradient overwrites the logits."""
    count, width = logits.shape
    outside = (labels != ignore_index) & ((labels < 0) | (labels >= width))
    if outside.any():
        raise IndexError(f"labels must lie between 0 and {width - 1}")
    call(
        "cross_entropy",
        pointer(logits),
        is_half(logits),
        pointer(labels),
        pointer(losses),
        count,
        width,
        ignore_index,
        smoothing,
    )


def add_dropout(
    x: Float[Tensor, "B T D"], update: Float[Tensor, "B T D"], *, dropout: float
) -> Float[Tensor, "B T D"]:
    """x + dropout(update)."""
    return _AddNorm.apply(x, update, None, None, dropout, 0.0, x.dtype)[0]


def add_norm(
    x: Float[Tensor, "B T D"],
    update: Float[Tensor, "B T D"] | None,
    weight: Float[Tensor, " D"],
    bias: Float[Tensor, " D"],
    *,
    dropout: float,
    epsilon: float,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
    """The sum x + dropout(update), or x itself without an update, and its layer norm.

    The norm has the dtype of autocast, else that of x; it is computed in single precision.
    """
    return _AddNorm.apply(x, update, weight, bias, dropout, epsilon, product_dtype(x))


class _AddNorm(torch.autograd.Function):
    """The backward pass draws the same dropout mask again from the seed."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "B T D"],
        update: Float[Tensor, "B T D"] | None,
        weight: Float[Tensor, " D"] | None,
        bias: Float[Tensor, " D"] | None,
        dropout: float,
        epsilon: float,
        dtype: torch.dtype,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"] | None]:
        x = x.contiguous()
        update = None if update is None else update.contiguous()
        width, count = x.shape[-1], x.numel() // x.shape[-1]
        seed = draw_seed() if dropout and update is not None else 0
        total = x if update is None else torch.empty_like(x)
        normed = None if weight is None else torch.empty_like(x, dtype=dtype)
        mean, deviation = (None, None) if weight is None else x.new_empty(2, count).unbind()
        call(
            "add_norm",
            *(pointer(x), pointer(update), update is not None and is_half(update)),
            *(pointer(total), pointer(normed), dtype == torch.bfloat16),
            *map(pointer, (mean, deviation, weight, bias)),
            *(count, width, epsilon, seed, dropout if update is not None else 0.0),
        )
        ctx.save_for_backward(None if weight is None else total, mean, deviation, weight)
        ctx.seed, ctx.dropout, ctx.dtype = seed, dropout, dtype
        ctx.update_dtype = None if update is None else update.dtype
        ctx.set_materialize_grads(False)
        return x.view_as(x) if update is None else total, normed

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, dtotal: Float[Tensor, "B T D"] | None, dnormed: Float[Tensor, "B T D"] | None
    ) -> tuple[Tensor | None, ...]:
        total, mean, deviation, weight = ctx.saved_tensors
        given = dtotal if dnormed is None else dnormed
        if given is None:
            return (None,) * 7
        width, count = given.shape[-1], given.numel() // given.shape[-1]
        dtotal = None if dtotal is None else dtotal.contiguous()
        dnormed = None if dnormed is None else dnormed.contiguous()
        updated = ctx.update_dtype is not None
        dresidual = dtotal if dnormed is None else torch.empty_like(total)
        dupdate = torch.empty_like(given, dtype=ctx.update_dtype) if updated else None
        threads = torch.get_num_threads()
        partials = (
            None if dnormed is None else given.new_zeros(2, threads, width, dtype=torch.float32)
        )
        dweight, dbias = (None, None) if partials is None else partials.unbind()
        call(
            "add_norm_backward",
            *(pointer(dtotal), pointer(dnormed), dnormed is not None and is_half(dnormed)),
            *map(pointer, (total, mean, deviation, weight)),
            *(None if dnormed is None else pointer(dresidual), pointer(dupdate)),
            *(ctx.update_dtype == torch.bfloat16, pointer(dweight), pointer(dbias)),
            *(count, width, ctx.seed, ctx.dropout if updated else 0.0),
        )
        sums = (None, None) if partials is None else partials.sum(dim=1).unbind()
        return dresidual, dupdate, *sums, None, None, None


class ReluDropout(torch.autograd.Function):
    """dropout(relu(x)) in place of x."""

    @staticmethod
    def forward(ctx: Any, x: Float[Tensor, "*B D"], dropout: float) -> Float[Tensor, "*B D"]:
        """x itself, changed."""
        seed = draw_seed() if dropout else 0
        call("drop", pointer(x), is_half(x), x.numel(), True, seed, dropout)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.dropout = dropout
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, "*B D"]) -> tuple[Float[Tensor, "*B D"], None]:
        """That of the units that are kept and positive."""
        (output,) = ctx.saved_tensors
        grad, dinput = grad.contiguous(), torch.empty_like(output)
        scale = 1 / (1 - ctx.dropout)
        call(
            "relu_backward",
            *(pointer(output), pointer(grad), pointer(dinput), is_half(output)),
            *(output.numel(), scale),
        )
        return dinput, None


class Dropout(torch.autograd.Function):
    """Dropout (Srivastava et al., 2014); the backward pass draws the same mask again."""

    @staticmethod
    def forward(ctx: Any, x: Float[Tensor, "*B D"], dropout: float) -> Float[Tensor, "*B D"]:
        """A copy with some elements zero, and the others scaled."""
        ctx.seed, ctx.dropout = draw_seed(), dropout
        return _dropped(x, ctx.seed, dropout)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, "*B D"]) -> tuple[Float[Tensor, "*B D"], None]:
        """The same mask of the gradient."""
        return _dropped(grad, ctx.seed, ctx.dropout), None


def _dropped(x: Float[Tensor, "*B D"], seed: int, dropout: float) -> Float[Tensor, "*B D"]:
    x = x.clone(memory_format=torch.contiguous_format)
    call("drop", pointer(x), is_half(x), x.numel(), False, seed, dropout)
    return x


def draw_seed() -> int:
    """A seed from PyTorch's default generator."""
    return int(torch.randint(2**63 - 1, ()))


def is_half(x: Tensor) -> bool:
    """Whether x is of bfloat16, else of float32."""
    assert x.dtype in (torch.bfloat16, torch.float32)
    return x.dtype == torch.bfloat16
