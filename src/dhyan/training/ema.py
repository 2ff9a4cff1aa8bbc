"""A moving average of the weights, steadier than the weights themselves."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


@dataclass(frozen=True)
class WeightEMA:
    """Each weight's average, by name: decay · average + (1 − decay) · weight after every step.

    In the first steps the decay is (1 + step) / (10 + step) where that is less, so that the
    average soon forgets the weights the run began with.
    """

    decay: float
    weights: Mapping[str, Tensor]

    @classmethod
    def start(cls, model: nn.Module, decay: float) -> "WeightEMA":
        """The average of a run that has not begun: its first weights."""
        return cls(decay, copy_weights(model))

    def update(self, model: nn.Module, step: int) -> None:
        """Take in the weights after a step."""
        current = [weight.detach() for weight in model.parameters()]
        get_ema_multi_avg_fn(self.decay_at(step))(list(self.weights.values()), current, step)

    def decay_at(self, step: int) -> float:
        """How much of the average a step leaves."""
        return min(self.decay, (1 + step) / (10 + step))

    @torch.no_grad()
    def update_by(self, model: nn.Module, share: Float[Tensor, ""]) -> None:
        """Take in the weights by a share, 1 − decay, that is read on the device."""
        for average, weight in zip(self.weights.values(), model.parameters(), strict=True):
            average.lerp_(weight, share)

    @contextmanager
    def swapped_into(self, model: nn.Module) -> Iterator[None]:
        """Inside, the model has the averages for weights; after it, its own, bit for bit."""
        own = copy_weights(model)
        fill(model, self.weights)
        try:
            yield
        finally:
            fill(model, own)


def copy_weights(model: nn.Module) -> dict[str, Tensor]:
    """A copy of every weight, by name."""
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


@torch.no_grad()
def fill(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a model these weights."""
    for name, weight in model.named_parameters():
        weight.copy_(weights[name])
