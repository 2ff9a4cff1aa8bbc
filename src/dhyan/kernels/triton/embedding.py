"""Triton: token and position embedding with dropout in one pass, and its gradient."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.backend import product_dtype
from dhyan.kernels.triton.add_norm import row_tile
from dhyan.kernels.triton.dropout import draw_seed, dropout_arguments, dropout_tile


def embed_tokens(
    token_ids: Int[Tensor, "B T"],
    table: Float[Tensor, "V D"],
    positions: Float[Tensor, "T D"],
    *,
    scale: float,
    dropout: float,
    padding: int,
) -> Float[Tensor, "B T D"]:
    """dropout(scale · table[token_ids] + positions), in the dtype of autocast.

    Only the table gets a gradient, and its row for padding gets none.
    """
    return _EmbedTokens.apply(
        token_ids.contiguous(), table, positions, scale, dropout, padding, product_dtype(table)
    )


class _EmbedTokens(torch.autograd.Function):
    """The backward pass draws the same dropout mask again from the seed."""

    @staticmethod
    def forward(
        ctx: Any,
        token_ids: Int[Tensor, "B T"],
        table: Float[Tensor, "V D"],
        positions: Float[Tensor, "T D"],
        scale: float,
        dropout: float,
        padding: int,
        dtype: torch.dtype,
    ) -> Float[Tensor, "B T D"]:
        width, seed = table.shape[1], draw_seed(token_ids.device) if dropout else None
        vectors = torch.empty((*token_ids.shape, width), dtype=dtype, device=token_ids.device)
        tile = row_tile(width)
        _embed_kernel[(triton.cdiv(token_ids.numel(), tile["ROWS"]),)](
            token_ids,
            table,
            positions.contiguous(),
            vectors,
            seed,
            token_ids.numel(),
            token_ids.shape[1],
            width,
            scale,
            *dropout_arguments(dropout),
            DROPOUT=bool(dropout),
            **tile,
        )
        ctx.save_for_backward(token_ids, seed)
        ctx.settings = len(table), scale, dropout, padding, table.dtype
        return vectors

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_vectors: Float[Tensor, "B T D"]) -> tuple[Tensor | None, ...]:
        if not ctx.needs_input_grad[1]:
            return (None,) * 7
        token_ids, seed = ctx.saved_tensors
        vocabulary, scale, dropout, padding, dtype = ctx.settings
        width, tile = grad_vectors.shape[-1], row_tile(grad_vectors.shape[-1])
        grad_rows = torch.empty_like(
            grad_vectors, dtype=dtype, memory_format=torch.contiguous_format
        )
        _embed_backward[(triton.cdiv(token_ids.numel(), tile["ROWS"]),)](
            grad_vectors.contiguous(),
            grad_rows,
            seed,
            token_ids.numel(),
            width,
            scale / (1 - dropout),
            dropout_arguments(dropout)[0],
            DROPOUT=bool(dropout),
            **tile,
        )
        grad_table = torch.ops.aten.embedding_dense_backward(
            grad_rows, token_ids, vocabulary, padding, False
        )
        return None, grad_table, None, None, None, None, None


@triton.jit(do_not_specialize=["count", "length"])
@no_type_check
def _embed_kernel(
    token_ids, table, positions, vectors, seed, count, length, width, scale, threshold, keep_scale,
    DROPOUT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The vectors of a few tokens."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    ids = tl.load(token_ids + rows, rows < count, other=0).to(tl.int64)
    x = tl.load(table + ids[:, None] * width + columns[None, :], inside, other=0.0)
    sources = positions + (rows % length)[:, None] * width + columns[None, :]
    x = x.to(tl.float32) * scale + tl.load(sources, inside, other=0.0).to(tl.float32)
    if DROPOUT:
        x = dropout_tile(x, seed, rows, columns, threshold, keep_scale)
    target = vectors + rows.to(tl.int64)[:, None] * width + columns[None, :]
    tl.store(target, x.to(vectors.dtype.element_ty), inside)


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _embed_backward(
    grad_vectors, grad_rows, seed, count, width, scale, threshold,
    DROPOUT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The gradient of the embeddings of a few tokens."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    offsets = rows.to(tl.int64)[:, None] * width + columns[None, :]
    x = tl.load(grad_vectors + offsets, inside, other=0.0).to(tl.float32)
    x = dropout_tile(x, seed, rows, columns, threshold, scale) if DROPOUT else x * scale
    tl.store(grad_rows + offsets, x.to(grad_rows.dtype.element_ty), inside)
