"""The small network of additive attention, with the reader's own weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import AdditiveScore
from dhyan.errors import UserError
from dhyan.insight.parse_matrix import Matrix, parse_matrix

W = (
    (1, 0, -1),
    (0, 1, 0.5),
    (0.5, -1, 0),
    (-0.5, 0, 1),
    (0, 1, 0.5),
    (1, -0.5, 0),
    (-1, 0.5, 1),
    (0.5, 0, -1),
)
B, V = (0.1, 0, -0.1), (1, -1, 2)
Vector = Sequence[float | int] | Tensor


@dataclass(frozen=True)
class Network:
    """e = vᵀ tanh(W [s; h] + b): `w` has a row for each number of s, then for each of h."""

    w: Float64[Tensor, "I A"]
    b: Float64[Tensor, " A"]
    v: Float64[Tensor, " A"]
    asks: int

    @classmethod
    def of(
        cls, w: Matrix | None, b: Vector | None, v: Vector | None, *, asks: int, asked: int
    ) -> "Network":
        """Weights that fit an s of `asks` numbers and an h of `asked`; what is not given is usual.

        >>> Network.of(None, None, None, asks=4, asked=4).parameters()
        (24, 3, 3)
        """
        maps = parse_matrix(
            "w",
            W if w is None else w,
            rows=asks + asked,
            of=f"the {asks} numbers of s and the {asked} of h",
        )
        size = maps.shape[1]
        return cls(
            maps,
            _vector("b", B if b is None else b, size),
            _vector("v", V if v is None else v, size),
            asks,
        )

    def inner(self, rows: Float64[Tensor, "*S I"]) -> Float64[Tensor, "*S A"]:
        """tanh(W [s; h] + b) of every row."""
        return torch.tanh(rows @ self.w + self.b)

    def module(self) -> AdditiveScore:
        """The project's own score with these weights."""
        module = AdditiveScore(self.asks, len(self.w) - self.asks, len(self.v)).double()
        with torch.no_grad():
            module.query.weight.copy_(self.w[: self.asks].T)
            module.query.bias.copy_(self.b)
            module.key.weight.copy_(self.w[self.asks :].T)
            module.energy.copy_(self.v)
        return module

    def parameters(self) -> tuple[int, int, int]:
        """How many numbers there are to learn in W, b and v, counted in the module."""
        module = self.module()
        maps = module.query.weight.numel() + module.key.weight.numel()
        return maps, module.query.bias.numel(), module.energy.numel()


def _vector(name: str, given: Vector, size: int) -> Float64[Tensor, " A"]:
    """As many numbers as the network has inner ones."""
    try:
        found = torch.as_tensor(given, dtype=torch.float64)
    except (TypeError, ValueError):
        found = torch.empty(0)
    if found.shape != (size,) or not found.isfinite().all():
        example = [1, *([0] * (size - 1))]
        raise UserError(f"{name}: w has {size} columns, so give {size} numbers, such as {example}")
    return found
