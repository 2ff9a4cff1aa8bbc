"""Tiles of the recurrent Triton kernels: sizes, offsets and masks, and tiled matrix products."""

from typing import Any, NamedTuple, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor


class Tile(NamedTuple):
    """How much of a product one program computes, and with what."""

    rows: int
    columns: int
    inner: int
    warps: int
    stages: int

    def grid(self, batch: int, width: int, directions: int = 1) -> tuple[int, int, int]:
        """How many programs there are."""
        return triton.cdiv(batch, self.rows), triton.cdiv(width, self.columns), directions

    def launch_options(self) -> dict[str, Any]:
        """The arguments of a kernel launch."""
        return {
            "ROWS": self.rows,
            "COLUMNS": self.columns,
            "INNER": self.inner,
            "num_warps": self.warps,
            "num_stages": self.stages,
        }


def forward_tile(batch: int, dtype: torch.dtype) -> Tile:
    """For a forward step, whose programs compute a tile of every gate block."""
    if dtype == torch.float32:
        return Tile(64, 16 if batch <= 512 else 32, 32, 4, 3)
    if batch <= 32:
        return Tile(16, 16, 128, 4, 3)
    return Tile(64, 16, 64, 4, 4) if batch <= 512 else Tile(128, 64, 64, 8, 3)


def backward_tile(batch: int, dtype: torch.dtype) -> Tile:
    """For a backward step, whose product is long."""
    if dtype == torch.float32:
        return Tile(32, 32, 32, 4, 3) if batch <= 512 else Tile(64, 64, 32, 4, 3)
    if batch <= 32:
        return Tile(16, 16, 128, 4, 4)
    return Tile(64, 16, 128, 4, 4) if batch <= 512 else Tile(128, 64, 64, 8, 4)


def fast_tanh(x: Tensor) -> bool:
    """Whether to use the GPU's own tanh, whose error is about that of half precision."""
    return x.is_cuda and x.dtype != torch.float32


def matmul_precision(x: Tensor, exact: str = "ieee") -> str:
    """How a kernel multiplies single precision: exactly, unless PyTorch is set to TF32.

    Three products in TF32 ("tf32x3") are as exact to six digits; of four tiles at once they are
    five times as fast, of one they are slower.
    """
    highest = torch.get_float32_matmul_precision() == "highest"
    return exact if x.dtype == torch.float32 and highest else "tf32"


@triton.jit
@no_type_check
def tile_offsets(batch, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The rows and columns of a program's tile, which of them are real, and the mask of both."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    real_rows, real_columns = rows < batch, columns < WIDTH
    return rows, columns, real_rows, real_columns, real_rows[:, None] & real_columns[None, :]


@triton.jit
@no_type_check
def add_product(
    total,
    left,
    right,
    real_rows,
    real_columns,
    LENGTH: tl.constexpr,
    STRIDE: tl.constexpr,
    INNER: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """A tile of a matrix product, added to `total`.

    `left` points to the rows and `right` to the columns, whose elements are STRIDE apart; both are
    LENGTH long.
    """
    for begin in range(0, LENGTH, INNER):
        inner = begin + tl.arange(0, INNER)
        in_range = inner < LENGTH
        a = tl.load(left[:, None] + inner[None, :], real_rows[:, None] & in_range[None, :], 0.0)
        b = tl.load(
            right[None, :] + inner[:, None] * STRIDE, in_range[:, None] & real_columns[None, :], 0.0
        )
        total = tl.dot(a, b, total, input_precision=PRECISION)
    return total
