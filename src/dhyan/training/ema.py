"""Exponential moving average (EMA) of the weights."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


@dataclass(frozen=True)
class WeightEMA:
    """The average of each weight by name: decay · average + (1 − decay) · weight after every step.

    Averages of weights: Polyak and Juditsky (1992). In the first steps the decay is
    (1 + step) / (10 + step) if that is less, the rule of TensorFlow's ExponentialMovingAverage, so
    that the random first weights soon have no influence.
    """

    decay: float
    weights: Mapping[str, Tensor]

    @classmethod
    def start(cls, model: nn.Module, decay: float) -> "WeightEMA":
        """The average before the first step: a copy of the weights."""
        return cls(decay, copy_weights(model))

    def update(self, model: nn.Module, step: int) -> None:
        """Update the average with the weights after a step."""
        current = [weight.detach() for weight in model.parameters()]
        get_ema_multi_avg_fn(self.decay_at(step))(list(self.weights.values()), current, step)

    def decay_at(self, step: int) -> float:
        """The decay at a step."""
        return min(self.decay, (1 + step) / (10 + step))

    @torch.no_grad()
    def update_by(self, model: nn.Module, share: Float[Tensor, ""]) -> None:
        """Update the average with a share, 1 − decay, that is on the device."""
        for average, weight in zip(self.weights.values(), model.parameters(), strict=True):
            average.lerp_(weight, share)

    @contextmanager
    def swapped_into(self, model: nn.Module) -> Iterator[None]:
        """Inside the block the model has the average weights; afterwards its own, bit for bit."""
        originals = copy_weights(model)
        fill(model, self.weights)
        try:
            yield
        finally:
            fill(model, originals)


def copy_weights(model: nn.Module) -> dict[str, Tensor]:
    """A copy of every weight, by name."""
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


@torch.no_grad()
def fill(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights into a model, by name."""
    for name, weight in model.named_parameters():
        weight.copy_(weights[name])
