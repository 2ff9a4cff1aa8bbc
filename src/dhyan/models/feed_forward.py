"""What a Transformer does between looks: think about each position by itself."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from dhyan.kernels.backend import hurries
from dhyan.kernels.triton.packed_linear import joined_linear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "swiglu": functional.silu,
}


class FeedForward(nn.Module):
    """Widen, bend, narrow: max(0, x W + b) V + c (Vaswani et al., 2017), or another bend.

    SwiGLU (Shazeer, 2020) bends one widened copy and multiplies it with another, by a third matrix.
    """

    def __init__(
        self, width: int, hidden: int, *, activation: str = "relu", dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.bend = ACTIVATIONS[activation]
        self.widen = nn.Linear(width, hidden)
        self.gate = nn.Linear(width, hidden) if activation == "swiglu" else None
        self.narrow = nn.Linear(hidden, width)
        self.dropout = nn.Dropout(dropout)
        for part in (self.widen, self.gate, self.narrow):
            if part is not None:
                nn.init.xavier_uniform_(part.weight)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Every position alike."""
        if self.gate is None and self.bend is torch.relu and hurries(self, x):
            return joined_linear(self._rectified(x), [self.narrow])[0]
        if self.gate is None:
            wide = self.bend(self.widen(x))
        else:
            wide = self.bend(self.gate(x)) * self.widen(x)
        return self.narrow(self.dropout(wide))

    def _rectified(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T H"]:
        from dhyan.kernels.triton.linear_relu import rectified_linear

        return rectified_linear(x, self.widen.weight, self.widen.bias, dropout=self.dropout.p)
