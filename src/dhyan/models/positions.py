"""Position embeddings of a Transformer: sinusoidal or learned, added to token embeddings."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

FIRST_POSITIONS = {"tensor2tensor": 1, "fairseq": 2}


@runtime_checkable
class Positions(Protocol):
    """A vector for every position in a sentence, up to `max_length` if there is one."""

    @property
    def max_length(self) -> int | None: ...  # noqa: D102

    def __call__(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """The vectors of the positions first … first + count."""
        ...


class Sinusoids(nn.Module):
    """Sines and cosines of growing period (Vaswani et al., 2017, section 3.5); any length.

    `layout` says how they lie in a vector: `interleaved`, as in the paper; in `halves`, first the
    sines, then the cosines, as in Marian; or as in `tensor2tensor`, where the longest of the periods
    in the halves is 2π · 10,000 and the first position is 1; in `fairseq` it is 2.
    """

    evens: Tensor

    def __init__(self, width: int, layout: str = "interleaved") -> None:
        super().__init__()
        self.register_buffer("evens", torch.arange(0, width, 2), persistent=False)
        self.width = width
        self.layout = layout
        self.max_length = None

    def forward(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """Sine and cosine of every frequency."""
        first += FIRST_POSITIONS.get(self.layout, 0)
        span = max(self.width - 2, 1) if self.layout in FIRST_POSITIONS else self.width
        positions = torch.arange(first, first + count, device=self.evens.device)
        angles = torch.outer(positions.float(), 10_000 ** -(self.evens / span))
        sines, cosines = angles.sin(), angles.cos()
        if self.layout == "interleaved":
            return torch.stack([sines, cosines], dim=-1).flatten(-2)[:, : self.width]
        return torch.cat([sines, cosines], dim=-1)[:, : self.width]


class NoPositions(nn.Module):
    """Zeros: for attention with relative positions, or a model that ignores order."""

    zeros: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.max_length = None
        self.register_buffer("zeros", torch.zeros(1, width), persistent=False)

    def forward(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """Zeros."""
        return self.zeros.expand(count, -1)


class LearnedPositions(nn.Module):
    """One trained vector per position, up to `max_length` (Gehring et al., 2017)."""

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.table = nn.Parameter(torch.randn(max_length, width) * width**-0.5)

    def forward(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """The rows of the table."""
        if first + count > self.max_length:
            raise ValueError(
                f"position {first + count} is past the {self.max_length} that the model has learned"
            )
        return self.table[first : first + count]
