"""Where a word stands, added to what it is: attention by itself is blind to order."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn


@runtime_checkable
class Positions(Protocol):
    """A vector for every place in a sentence, up to the `longest` if there is one."""

    @property
    def longest(self) -> int | None: ...  # noqa: D102

    def __call__(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """The places first … first + count."""
        ...


class Sinusoids(nn.Module):
    """Points on circles of growing period (Vaswani et al., 2017); any length."""

    evens: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("evens", torch.arange(0, width, 2), persistent=False)
        self.width = width
        self.longest = None

    def forward(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """Sine and cosine of every rate, side by side."""
        places = torch.arange(first, first + count, device=self.evens.device)
        angles = torch.outer(places.float(), 10_000 ** -(self.evens / self.width))
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, : self.width]


class NoPositions(nn.Module):
    """Nothing is added: the attention knows distances by itself, or order is not to count."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.longest = None
        self.register_buffer("nothing", torch.zeros(1, width), persistent=False)

    nothing: Tensor

    def forward(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """Zeros."""
        return self.nothing.expand(count, -1)


class LearnedPositions(nn.Module):
    """One trained vector per place, and so none beyond the last."""

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.longest = longest
        self.table = nn.Parameter(torch.randn(longest, width) * width**-0.5)

    def forward(self, first: int, count: int) -> Float[Tensor, "T D"]:
        """The rows of the table."""
        if first + count > self.longest:
            raise ValueError(
                f"position {first + count} asked of a model that has learned {self.longest}"
            )
        return self.table[first : first + count]
