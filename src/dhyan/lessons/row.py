"""One row of numbers that a reader gives, looked at before anything is computed."""

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.faults import Fault


def row(name: str, given: object, *, count: int | None = None) -> Float64[Tensor, " N"]:
    """The numbers of a list, which are as many as wanted."""
    try:
        found = torch.as_tensor(given, dtype=torch.float64)
    except (TypeError, ValueError):
        found = torch.zeros(())
    if found.ndim != 1 or not found.numel():
        raise Fault(f"{name}: not numbers in one row, such as [1, 0]")
    if not found.isfinite().all():
        raise Fault(f"{name}: has a number that is not finite")
    if count is not None and len(found) != count:
        raise Fault(f"{name}: the numbers are {len(found)}; give {count}")
    return found
