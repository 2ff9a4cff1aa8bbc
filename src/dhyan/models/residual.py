"""The main road through a Transformer, and how its steps leave it and come back."""

from jaxtyping import Float
from torch import Tensor, nn

from dhyan.kernels.backend import hurries


class Residual(nn.Module):
    """A step beside the main road: normalised before it (pre-norm) or after it (post-norm)."""

    def __init__(self, width: int, *, pre_norm: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.pre_norm = pre_norm
        self.dropout = nn.Dropout(dropout)

    def enter(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """What the step is given."""
        return self.norm(x) if self.pre_norm else x

    def leave(
        self, x: Float[Tensor, "B T D"], found: Float[Tensor, "B T D"]
    ) -> Float[Tensor, "B T D"]:
        """The road again, with what the step found."""
        if hurries(self, x):
            return self._added(x, found) if self.pre_norm else self._normed(self.norm, x, found)[1]
        x = x + self.dropout(found)
        return x if self.pre_norm else self.norm(x)

    def fork(
        self, x: Float[Tensor, "B T D"]
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
        """The road as it goes on, and what the step is given."""
        if self.pre_norm and hurries(self, x):
            return self._normed(self.norm, x, None)
        return x, self.enter(x)

    def go_on(
        self, x: Float[Tensor, "B T D"], found: Float[Tensor, "B T D"], step: "Residual"
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
        """Back on the road, and off it again for the next step: leave, then fork."""
        if self.pre_norm and step.pre_norm and hurries(self, x):
            return self._normed(step.norm, x, found)
        return step.fork(self.leave(x, found))

    def _added(
        self, x: Float[Tensor, "B T D"], found: Float[Tensor, "B T D"]
    ) -> Float[Tensor, "B T D"]:
        from dhyan.kernels.triton.add_norm import added

        return added(x, found, dropout=self.dropout.p)

    def _normed(
        self, norm: nn.LayerNorm, x: Float[Tensor, "B T D"], found: Float[Tensor, "B T D"] | None
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"]]:
        from dhyan.kernels.triton.add_norm import normalised

        return normalised(
            x, found, norm.weight, norm.bias, dropout=self.dropout.p, epsilon=norm.eps
        )


def normed(norm: nn.Module, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    """The end of the road: its last norm, if there is one."""
    if isinstance(norm, nn.LayerNorm) and hurries(norm, x):
        from dhyan.kernels.triton.add_norm import normalised

        return normalised(x, None, norm.weight, norm.bias, dropout=0.0, epsilon=norm.eps)[1]
    return norm(x)
