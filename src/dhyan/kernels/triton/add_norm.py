"""Steps of the residual road: what was found is thinned out, added and normalised in one pass."""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.column_sum import sum_parts
from dhyan.kernels.triton.dropout import drawn_seed, kept, threshold
from dhyan.kernels.triton.layer_norm import centre

PROGRAMS = 1056  # that work backwards: eight for each multiprocessor of a large GPU


def added(
    x: Float[Tensor, "B N D"], found: Float[Tensor, "B N D"], *, dropout: float
) -> Float[Tensor, "B N D"]:
    """x + dropout(found)."""
    return _Added.apply(x, found, dropout)


def normalised(
    x: Float[Tensor, "B N D"],
    found: Float[Tensor, "B N D"] | None,
    weight: Float[Tensor, " D"],
    bias: Float[Tensor, " D"],
    *,
    dropout: float,
    epsilon: float,
) -> tuple[Float[Tensor, "B N D"], Float[Tensor, "B N D"]]:
    """The sum x + dropout(found), or x itself if nothing is added, and its layer norm.

    The norm has the precision that autocast asks for, else that of x; inside it is single.
    """
    device = x.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
    return _Normalised.apply(x, found, weight, bias, dropout, epsilon, kind)


class _Added(torch.autograd.Function):
    """What was dropped is found again by its seed."""

    @staticmethod
    def forward(
        ctx: Any, x: Float[Tensor, "B N D"], found: Float[Tensor, "B N D"], dropout: float
    ) -> Float[Tensor, "B N D"]:
        seed = drawn_seed(x.device)
        total = torch.empty_like(x, memory_format=torch.contiguous_format)
        _forwards(x.contiguous(), found.contiguous(), total, seed, dropout)
        ctx.save_for_backward(seed)
        ctx.dropout, ctx.kind = dropout, found.dtype
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_total: Float[Tensor, "B N D"]) -> tuple[Tensor | None, ...]:
        (seed,) = ctx.saved_tensors
        of_found = torch.empty_like(of_total, dtype=ctx.kind, memory_format=torch.contiguous_format)
        width = of_total.shape[-1]
        count, sizes = of_total.numel() // max(width, 1), tile(width)
        _thin_out[(triton.cdiv(count, sizes["ROWS"]),)](
            of_total.contiguous(), of_found, seed, count, width, *_chance(ctx.dropout), **sizes
        )
        return of_total, of_found, None


class _Normalised(torch.autograd.Function):
    """The sum is kept, with the mean and spread of its rows."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "B N D"],
        found: Float[Tensor, "B N D"] | None,
        weight: Float[Tensor, " D"],
        bias: Float[Tensor, " D"],
        dropout: float,
        epsilon: float,
        kind: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        x = x.contiguous()
        seed = drawn_seed(x.device) if found is not None and dropout else None
        total = x if found is None else torch.empty_like(x)
        normed = torch.empty_like(x, dtype=kind)
        rows = x.numel() // x.shape[-1]
        moments = torch.empty((2, rows), dtype=torch.float32, device=x.device)
        thing = None if found is None else found.contiguous()
        _forwards(x, thing, total, seed, dropout, (normed, weight, bias, moments, epsilon))
        ctx.save_for_backward(total, weight, moments, seed)
        ctx.dropout, ctx.found = dropout, None if found is None else found.dtype
        ctx.set_materialize_grads(False)
        return total, normed

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, of_total: Tensor | None, of_normed: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        total, weight, moments, seed = ctx.saved_tensors
        if of_normed is None:
            of_normed = torch.zeros_like(total)
        of_x = torch.empty_like(total)
        thinned = ctx.found is not None and bool(ctx.dropout)
        of_found = torch.empty_like(total, dtype=ctx.found) if thinned else None
        width = total.shape[-1]
        count, sizes = total.numel() // width, tile(width, 1024)  # its sums need registers too
        programs = min(PROGRAMS, triton.cdiv(count, sizes["ROWS"])) or 1
        sums = torch.empty((programs, 2, width), dtype=torch.float32, device=total.device)
        _norm_and_add_backwards[(programs,)](
            of_normed.contiguous(),
            None if of_total is None else of_total.contiguous(),
            total,
            weight,
            moments,
            of_x,
            of_found,
            sums,
            seed,
            count,
            width,
            *_chance(ctx.dropout),
            PASSED=of_total is not None,
            THINNED=thinned,
            **sizes,
        )
        of_weight, of_bias = sum_parts(sums.flatten(1), weight.dtype).view(2, width)
        if ctx.found is not None and not thinned:
            of_found = of_x.to(ctx.found)
        return of_x, of_found, of_weight, of_bias, None, None, None


def _forwards(
    x: Tensor,
    found: Tensor | None,
    total: Tensor,
    seed: Tensor | None,
    dropout: float,
    norm: tuple[Tensor, Tensor, Tensor, Tensor, float] | None = None,
) -> None:
    width = x.shape[-1]
    count, sizes = x.numel() // max(width, 1), tile(width)
    normed, weight, bias, moments, epsilon = norm or (None, None, None, None, 0.0)
    _add_and_norm[(triton.cdiv(count, sizes["ROWS"]),)](
        x,
        found,
        total,
        normed,
        weight,
        bias,
        moments,
        seed,
        count,
        width,
        epsilon,
        *_chance(dropout),
        FOUND=found is not None,
        THINNED=found is not None and bool(dropout),
        NORMED=norm is not None,
        **sizes,
    )


def tile(width: int, numbers: int = 2048) -> dict[str, int]:
    """How many rows a program takes at once, so that it has about so many numbers to hold."""
    across = triton.next_power_of_2(width)
    rows = max(1, numbers // across)
    return {"ROWS": rows, "ACROSS": across, "num_warps": min(16, max(1, across * rows // 512))}


def _chance(dropout: float) -> tuple[int, float]:
    """What is dropped, and by how much the rest is raised."""
    return threshold(dropout), 1 / (1 - dropout)


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _add_and_norm(
    x, found, total, normed, weight, bias, moments, seed, count, width, epsilon, dropped, raised,
    FOUND: tl.constexpr, THINNED: tl.constexpr, NORMED: tl.constexpr,
    ROWS: tl.constexpr, ACROSS: tl.constexpr,
):  # fmt: skip
    """A few rows: add, round as the sum is stored, normalise."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, ACROSS)
    places = rows.to(tl.int64)[:, None] * width + columns[None, :]
    across = (columns < width)[None, :]
    inside = (rows < count)[:, None] & across
    sums = tl.load(x + places, inside, other=0.0).to(tl.float32)
    if FOUND:
        new = tl.load(found + places, inside, other=0.0).to(tl.float32)
        if THINNED:
            new = tl.where(kept(seed, rows, columns, dropped), new * raised, 0.0)
        stored = (sums + new).to(total.dtype.element_ty)
        tl.store(total + places, stored, inside)
        sums = stored.to(tl.float32)
    if NORMED:
        apart, mean, rate = centre(sums, across, width, epsilon, 1)
        tl.store(moments + rows, mean, rows < count)
        tl.store(moments + count + rows, rate, rows < count)
        slope = tl.load(weight + columns, columns < width, other=0.0).to(tl.float32)
        shift = tl.load(bias + columns, columns < width, other=0.0).to(tl.float32)
        result = apart * rate[:, None] * slope[None, :] + shift[None, :]
        tl.store(normed + places, result.to(normed.dtype.element_ty), inside)


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _norm_and_add_backwards(
    of_normed, of_total, total, weight, moments, of_x, of_found, sums, seed, count, width,
    dropped, raised, PASSED: tl.constexpr, THINNED: tl.constexpr,
    ROWS: tl.constexpr, ACROSS: tl.constexpr,
):  # fmt: skip
    """Every so many rows: what the norm and the road behind it owe to x and to what was found."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    columns = tl.arange(0, ACROSS)
    across = columns < width
    slope = tl.load(weight + columns, across, other=0.0).to(tl.float32)
    to_weight = tl.zeros((ROWS, ACROSS), tl.float32)
    to_bias = tl.zeros((ROWS, ACROSS), tl.float32)
    for start in range(program * ROWS, count, programs * ROWS):
        rows = start + tl.arange(0, ROWS)
        places = rows.to(tl.int64)[:, None] * width + columns[None, :]
        inside = (rows < count)[:, None] & across[None, :]
        given = tl.load(of_normed + places, inside, other=0.0).to(tl.float32)
        mean = tl.load(moments + rows, rows < count, other=0.0)
        rate = tl.load(moments + count + rows, rows < count, other=0.0)
        level = tl.load(total + places, inside, other=0.0).to(tl.float32)
        level = tl.where(inside, (level - mean[:, None]) * rate[:, None], 0.0)
        to_weight += given * level
        to_bias += given
        given *= slope[None, :]
        even, along = tl.sum(given, 1) / width, tl.sum(given * level, 1) / width
        result = (given - even[:, None] - level * along[:, None]) * rate[:, None]
        if PASSED:
            result += tl.load(of_total + places, inside, other=0.0).to(tl.float32)
        tl.store(of_x + places, result.to(of_x.dtype.element_ty), inside)
        if THINNED:
            result = tl.where(kept(seed, rows, columns, dropped), result * raised, 0.0)
            tl.store(of_found + places, result.to(of_found.dtype.element_ty), inside)
    sums += program * 2 * width + columns
    tl.store(sums, tl.sum(to_weight, 0), across)
    tl.store(sums + width, tl.sum(to_bias, 0), across)


@triton.jit(do_not_specialize=["count"])
@no_type_check
def _thin_out(
    given, thinned, seed, count, width, dropped, raised, ROWS: tl.constexpr, ACROSS: tl.constexpr
):
    """Dropout of a few rows."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, ACROSS)
    places = rows.to(tl.int64)[:, None] * width + columns[None, :]
    inside = (rows < count)[:, None] & (columns < width)[None, :]
    numbers = tl.load(given + places, inside, other=0.0).to(tl.float32)
    numbers = tl.where(kept(seed, rows, columns, dropped), numbers * raised, 0.0)
    tl.store(thinned + places, numbers.to(thinned.dtype.element_ty), inside)
