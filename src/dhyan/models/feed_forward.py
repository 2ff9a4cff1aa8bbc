"""The position-wise feed-forward network of a Transformer layer."""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from dhyan.kernels.ops import feed_forward

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "swiglu": functional.silu,
    "geglu": partial(functional.gelu, approximate="tanh"),
}
GATED = ("swiglu", "geglu")


class FeedForward(nn.Module):
    """max(0, x W + b) V + c (Vaswani et al., 2017, equation 2), or with another activation.

    SwiGLU and GEGLU (Shazeer, 2020) multiply the activated `gate` with the `up` projection; as in T5,
    the GELU of GEGLU is approximated by tanh.
    """

    def __init__(
        self, width: int, hidden: int, *, activation: str = "relu", dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.up = nn.Linear(width, hidden)
        self.gate = nn.Linear(width, hidden) if activation in GATED else None
        self.down = nn.Linear(hidden, width)
        self.dropout = nn.Dropout(dropout)
        for layer in (self.up, self.gate, self.down):
            if layer is not None:
                nn.init.xavier_uniform_(layer.weight)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """The same network at every position."""
        return feed_forward(
            x,
            self.up,
            self.down,
            activation=self.activation,
            gate=self.gate,
            dropout=self.dropout,
        )
