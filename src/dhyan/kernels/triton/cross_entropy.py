"""From the last vectors to the loss at once: the scores of all words live only a chunk long."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 2**29  # scores held at a time: a gigabyte in half precision


def linear_cross_entropy(
    vectors: Float[Tensor, "N D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"] | None,
    labels: Int[Tensor, " N"],
    *,
    smoothing: float,
    ignored: int,
    chunk: int = CHUNK,
) -> Float[Tensor, ""]:
    """The cross-entropy of `vectors weightᵀ + bias`, summed over the labels that are not ignored.

    The gradients are found on the way, so that the scores need not be kept for them.
    """
    device = vectors.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else vectors.dtype
    with torch.autocast(device, enabled=False):
        return _LinearCrossEntropy.apply(
            vectors.to(kind), weight, bias, labels, smoothing, ignored, chunk
        )


class _LinearCrossEntropy(torch.autograd.Function):
    """Chunk by chunk: scores, their loss, their gradient in their place, and what it says."""

    @staticmethod
    def forward(
        ctx: Any,
        vectors: Float[Tensor, "N D"],
        weight: Float[Tensor, "V D"],
        bias: Float[Tensor, " V"] | None,
        labels: Int[Tensor, " N"],
        smoothing: float,
        ignored: int,
        chunk: int,
    ) -> Float[Tensor, ""]:
        table = weight.to(vectors.dtype)
        shift = None if bias is None else bias.to(vectors.dtype)
        learns = any(ctx.needs_input_grad)
        losses = torch.empty(len(vectors), dtype=torch.float32, device=vectors.device)
        of_vectors, of_weight, of_bias = torch.empty_like(vectors), None, None
        for rows in _chunks(len(vectors), len(weight), chunk):
            known = vectors[rows]
            scores = torch.nn.functional.linear(known, table, shift)
            judge(scores, labels[rows], losses[rows], smoothing, ignored, learns)
            if not learns:
                continue
            torch.mm(scores, table, out=of_vectors[rows])
            of_weight = _plus(_in_full(scores.t(), known), of_weight)
            if bias is not None:
                of_bias = _plus(scores.sum(dim=0, dtype=torch.float32), of_bias)
        ctx.save_for_backward(of_vectors, of_weight, of_bias)
        ctx.kinds = weight.dtype, None if bias is None else bias.dtype
        return losses.sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_loss: Float[Tensor, ""]) -> tuple[Tensor | None, ...]:
        of_vectors, of_weight, of_bias = ctx.saved_tensors
        kinds = of_vectors.dtype, *ctx.kinds
        grads = (
            None if part is None else (part * of_loss.to(part.dtype)).to(kind)
            for part, kind in zip((of_vectors, of_weight, of_bias), kinds, strict=True)
        )
        return *grads, None, None, None, None


def judge(
    scores: Float[Tensor, "N V"],
    labels: Int[Tensor, " N"],
    losses: Float[Tensor, " N"],
    smoothing: float,
    ignored: int,
    learns: bool,
) -> None:
    """Write each row's loss; if it is to learn, the scores' gradient takes the scores' place."""
    count, width = scores.shape
    block = min(triton.next_power_of_2(width), 8192)
    _judge[(count,)](
        scores,
        labels,
        losses,
        width,
        ignored,
        smoothing,
        LEARNS=learns,
        BLOCK=block,
        num_warps=max(1, min(16, block // 512)),
    )


@triton.jit
@no_type_check
def _judge(
    scores, labels, losses, width, ignored, smoothing, LEARNS: tl.constexpr, BLOCK: tl.constexpr
):
    """One row: log Σ exp(x) − (1 − ε) x_label − ε mean(x), and softmax(x) less what is wanted."""
    row = tl.program_id(0).to(tl.int64)
    scores += row * width
    label = tl.load(labels + row)
    real = label != ignored
    of_label = tl.load(scores + label).to(tl.float32)
    columns = tl.arange(0, BLOCK)
    highest, spread, total = -float("inf"), 0.0, 0.0
    for start in range(0, width, BLOCK):
        inside = start + columns < width
        x = tl.load(scores + start + columns, inside, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(highest, tl.max(x, 0))
        spread = spread * tl.exp(highest - higher) + tl.sum(tl.exp(x - higher), 0)
        total += tl.sum(tl.where(inside, x, 0.0), 0)
        highest = higher
    loss = highest + tl.log(spread) - (1 - smoothing) * of_label - smoothing * total / width
    tl.store(losses + row, tl.where(real, loss, 0.0))
    if LEARNS:
        share = 1 / spread
        for start in range(0, width, BLOCK):
            inside = start + columns < width
            x = tl.load(scores + start + columns, inside, other=-float("inf")).to(tl.float32)
            gradient = tl.exp(x - highest) * share - smoothing / width
            gradient -= tl.where(start + columns == label, 1 - smoothing, 0.0)
            gradient = tl.where(real, gradient, 0.0)
            tl.store(scores + start + columns, gradient.to(scores.dtype.element_ty), inside)


def _chunks(count: int, width: int, chunk: int) -> list[slice]:
    """Rows in as few equal parts as hold at most `chunk` scores each."""
    parts = max(1, -(-count * width // chunk))
    step = max(1, -(-count // parts))
    return [slice(start, start + step) for start in range(0, count, step)]


def _in_full(one: Float[Tensor, "V N"], other: Float[Tensor, "N D"]) -> Float[Tensor, "V D"]:
    """A product kept in single precision, whatever its factors have."""
    if one.is_cuda and one.dtype != torch.float32:
        return torch.mm(one, other, out_dtype=torch.float32)
    return one.float() @ other.float()


def _plus(new: Tensor, before: Tensor | None) -> Tensor:
    return new if before is None else before.add_(new)
