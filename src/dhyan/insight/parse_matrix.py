"""Parse and check matrices and vectors that a user enters."""

from collections.abc import Sequence

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError

Matrix = Sequence[Sequence[int | float]] | Tensor


def parse_matrix(
    name: str, value: object, *, rows: int | None = None, columns: int | None = None, of: str = ""
) -> Float64[Tensor, "R C"]:
    """Numbers in rows of one length; `of` names what each row stands for, in errors."""
    try:
        matrix = torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError):
        raise UserError(
            f"{name}: not numbers in rows of one length, such as [[1, 0], [0, 1]]"
        ) from None
    if matrix.ndim != 2 or not matrix.numel():
        raise UserError(f"{name}: not a matrix; write its rows, such as [[1, 0], [0, 1]]")
    if not matrix.isfinite().all():
        raise UserError(f"{name}: has a number that is not finite")
    if rows is not None and len(matrix) != rows:
        raise UserError(f"{name}: has {len(matrix)} rows, but {of} are {rows}; give {rows} rows")
    if columns is not None and matrix.shape[1] != columns:
        raise UserError(f"{name}: has {matrix.shape[1]} columns; give {columns}")
    return matrix


def parse_vector(name: str, value: object, *, count: int | None = None) -> Float64[Tensor, " N"]:
    """A list of numbers, `count` of them if it is given."""
    try:
        vector = torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError):
        vector = torch.zeros(())
    if vector.ndim != 1 or not vector.numel():
        raise UserError(f"{name}: not numbers in one row, such as [1, 0]")
    if not vector.isfinite().all():
        raise UserError(f"{name}: has a number that is not finite")
    if count is not None and len(vector) != count:
        raise UserError(f"{name}: the numbers are {len(vector)}; give {count}")
    return vector
