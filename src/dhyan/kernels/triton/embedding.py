"""From ids to vectors in one pass: look up, scale, add the place, drop, round."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.add_norm import tile
from dhyan.kernels.triton.dropout import drawn_seed, kept, threshold


def embedded(
    ids: Int[Tensor, "B T"],
    table: Float[Tensor, "V D"],
    places: Float[Tensor, "T D"],
    *,
    scale: float,
    dropout: float,
    padding: int,
) -> Float[Tensor, "B T D"]:
    """dropout(scale · table[ids] + places), in the precision that autocast asks for.

    Of the two only the table learns, and not from the padding.
    """
    device = table.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else table.dtype
    return _Embedded.apply(ids.contiguous(), table, places, scale, dropout, padding, kind)


class _Embedded(torch.autograd.Function):
    """Backwards, what was dropped is found again by its seed."""

    @staticmethod
    def forward(
        ctx: Any,
        ids: Int[Tensor, "B T"],
        table: Float[Tensor, "V D"],
        places: Float[Tensor, "T D"],
        scale: float,
        dropout: float,
        padding: int,
        kind: torch.dtype,
    ) -> Float[Tensor, "B T D"]:
        width, seed = table.shape[1], drawn_seed(ids.device) if dropout else None
        found = torch.empty((*ids.shape, width), dtype=kind, device=ids.device)
        sizes = tile(width)
        _look_up[(triton.cdiv(ids.numel(), sizes["ROWS"]),)](
            ids,
            table,
            places.contiguous(),
            found,
            seed,
            ids.numel(),
            ids.shape[1],
            width,
            scale,
            threshold(dropout),
            1 / (1 - dropout),
            THINNED=bool(dropout),
            **sizes,
        )
        ctx.save_for_backward(ids, seed)
        ctx.sizes = len(table), scale, dropout, padding, table.dtype
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_found: Float[Tensor, "B T D"]) -> tuple[Tensor | None, ...]:
        if not ctx.needs_input_grad[1]:
            return (None,) * 7
        ids, seed = ctx.saved_tensors
        words, scale, dropout, padding, kind = ctx.sizes
        width, sizes = of_found.shape[-1], tile(of_found.shape[-1])
        given = torch.empty_like(of_found, dtype=kind, memory_format=torch.contiguous_format)
        _give_back[(triton.cdiv(ids.numel(), sizes["ROWS"]),)](
            of_found.contiguous(),
            given,
            seed,
            ids.numel(),
            width,
            scale / (1 - dropout),
            threshold(dropout),
            THINNED=bool(dropout),
            **sizes,
        )
        of_table = torch.ops.aten.embedding_dense_backward(given, ids, words, padding, False)
        return None, of_table, None, None, None, None, None


@triton.jit(do_not_specialize=["count", "length"])
@no_type_check
def _look_up(
    ids, table, places, found, seed, count, length, width, scale, dropped, raised,
    THINNED: tl.constexpr, ROWS: tl.constexpr, ACROSS: tl.constexpr,
):  # fmt: skip
    """The vectors of a few tokens."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, ACROSS)
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    words = tl.load(ids + rows, rows < count, other=0).to(tl.int64)
    vectors = tl.load(table + words[:, None] * width + columns[None, :], inside, other=0.0)
    where = places + (rows % length)[:, None] * width + columns[None, :]
    vectors = vectors.to(tl.float32) * scale + tl.load(where, inside, other=0.0).to(tl.float32)
    if THINNED:
        vectors = tl.where(kept(seed, rows, columns, dropped), vectors * raised, 0.0)
    place = found + rows.to(tl.int64)[:, None] * width + columns[None, :]
    tl.store(place, vectors.to(found.dtype.element_ty), inside)


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _give_back(
    of_found, given, seed, count, width, scale, dropped,
    THINNED: tl.constexpr, ROWS: tl.constexpr, ACROSS: tl.constexpr,
):  # fmt: skip
    """What the vectors of a few tokens owe to the table."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, ACROSS)
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    places = rows.to(tl.int64)[:, None] * width + columns[None, :]
    numbers = tl.load(of_found + places, inside, other=0.0).to(tl.float32) * scale
    if THINNED:
        numbers = tl.where(kept(seed, rows, columns, dropped), numbers, 0.0)
    tl.store(given + places, numbers.to(given.dtype.element_ty), inside)
