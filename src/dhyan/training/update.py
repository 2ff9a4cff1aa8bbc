"""One update of the weights: forward, backward, clipping, optimizer step, moving average."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.batch import Batch
from dhyan.data.permutation import derive_seed
from dhyan.kernels.backend import reference_kernels
from dhyan.models.seq2seq import Seq2Seq
from dhyan.training.ema import WeightEMA
from dhyan.training.loss import Objective

LossAndNorm = tuple[Float[Tensor, ""], Float[Tensor, ""]]
"""Loss of a step, summed over its tokens, and its gradient norm; both on the device."""


@dataclass(frozen=True, kw_only=True)
class UpdateParts:
    """What an update needs: model, optimizer, objective, moving average, clipping.

    All that is random in a step follows from the seed, the step, and the number of the batch.
    """

    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    objective: Objective
    ema: WeightEMA | None
    device: torch.device
    clip: float
    seed: int

    def seed_batch(self, step: int, part: int) -> None:
        """Seed the random numbers of one of the batches of a step."""
        torch.manual_seed(derive_seed(self.seed, step, part))

    def same_objects(self, other: "UpdateParts") -> bool:
        """Whether every part is the same object as the other's."""
        return all(mine is vars(other)[name] for name, mine in vars(self).items())


@runtime_checkable
class Update(Protocol):
    """Computes a step: eagerly, or by replaying CUDA graphs."""

    def __call__(
        self, batches: Sequence[Batch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Update the weights with the gradient of some batches, which have `tokens` labels in all.

        A step without a finite loss and gradient changes nothing.
        """
        ...

    def release_memory(self) -> None:
        """Discard a step that ran out of memory; it is repeated in smaller parts."""
        ...


@dataclass(frozen=True)
class EagerUpdate:
    """PyTorch's eager execution; with `reference_kernels`, without fused kernels."""

    parts: UpdateParts
    reference_kernels: bool = False

    def __call__(
        self, batches: Sequence[Batch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Sum the gradients of the batches, clip, update the weights and their moving average."""
        parts, total = self.parts, torch.zeros((), device=self.parts.device)
        parts.optimizer.zero_grad(set_to_none=True)
        for part, batch in enumerate(batches):
            parts.seed_batch(step, part)
            with reference_kernels() if self.reference_kernels else nullcontext():
                loss = parts.objective(parts.model, batch, step)
            (loss / tokens).backward()
            total += loss.detach()
        norm = nn.utils.clip_grad_norm_(parts.model.parameters(), parts.clip)
        if not is_finite(total, norm):
            parts.optimizer.zero_grad(set_to_none=True)
            return total, norm
        for group in parts.optimizer.param_groups:
            group["lr"] = rate
        parts.optimizer.step()
        if parts.ema:
            parts.ema.update(parts.model, step)
        return total, norm

    def release_memory(self) -> None:
        """Free the gradients and the cache of the allocator."""
        self.parts.optimizer.zero_grad(set_to_none=True)
        empty_cache(self.parts.device)


def is_finite(loss: Float[Tensor, ""], norm: Float[Tensor, ""]) -> Bool[Tensor, ""]:
    """Whether loss and gradient norm are finite; the result stays on the device."""
    return torch.isfinite(loss) & torch.isfinite(norm)


def step_if(finite: Bool[Tensor, ""], optimizer: torch.optim.Optimizer) -> None:
    """The step of a fused optimizer, which the device skips if the gradient is not finite.

    Fused optimizers read `found_inf` as gradient scaling sets it.
    """
    attributes = vars(optimizer)
    attributes["found_inf"] = (~finite).float()
    try:
        optimizer.step()
    finally:
        del attributes["found_inf"]


def empty_cache(device: torch.device) -> None:
    """Return unused memory of PyTorch's allocator to the device."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
