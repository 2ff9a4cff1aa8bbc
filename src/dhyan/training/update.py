"""One update of the weights: forward, backward, clipping, optimizer step, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.batch import Batch
from dhyan.kernels.backend import reference_kernels
from dhyan.kernels.cpu.products import fast_products
from dhyan.models.seq2seq import Seq2Seq
from dhyan.seeds import derive_seed
from dhyan.training.ema import WeightEMA
from dhyan.training.events import Skipped
from dhyan.training.loss import Objective
from dhyan.training.prefetch import BatchStream

LossAndNorm = tuple[Float[Tensor, ""], Float[Tensor, ""]]
"""Loss of a step, summed over its tokens, and its gradient norm; both on the device."""


@dataclass(frozen=True, kw_only=True)
class UpdateContext:
    """What an update needs: model, optimizer, objective, moving average, clipping.

    All that is random in a step follows from the seed, the step, and the number of the batch.
    """

    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    objective: Objective
    ema: WeightEMA | None
    device: torch.device
    clip_norm: float
    seed: int

    def seed_batch(self, step: int, index: int) -> None:
        """Seed the random numbers of one of the batches of a step."""
        torch.manual_seed(derive_seed(self.seed, step, index))

    def same_objects(self, other: "UpdateContext") -> bool:
        """Whether every field is the same object as the other's."""
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
    """PyTorch's eager execution; with `reference_kernels`, without fused kernels.

    It waits for the device once in every step, to learn whether loss and gradient are finite.
    """

    context: UpdateContext
    reference_kernels: bool = False

    def __call__(
        self, batches: Sequence[Batch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Sum the gradients of the batches, clip, update the weights and their moving average."""
        context, total = self.context, torch.zeros((), device=self.context.device)
        context.optimizer.zero_grad(set_to_none=True)
        for index, batch in enumerate(batches):
            context.seed_batch(step, index)
            with reference_kernels() if self.reference_kernels else fast_products():
                loss = context.objective(context.model, batch, step)
                (loss / tokens).backward()
            total += loss.detach()
        norm = nn.utils.clip_grad_norm_(context.model.parameters(), context.clip_norm)
        if not is_finite(total, norm):
            context.optimizer.zero_grad(set_to_none=True)
            return total, norm
        for group in context.optimizer.param_groups:
            group["lr"] = rate
        context.optimizer.step()
        if context.ema:
            context.ema.update(context.model, step)
        return total, norm

    def release_memory(self) -> None:
        """Free the gradients and the cache of the allocator."""
        self.context.optimizer.zero_grad(set_to_none=True)
        empty_cache(self.context.device)


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


@dataclass(frozen=True)
class PendingStep:
    """A step whose loss and gradient norm are still on the device.

    `positions` are where its batches begin, `parts` in how many parts they were computed.
    """

    step: int
    positions: tuple[int, ...]
    result: LossAndNorm
    tokens: int
    parts: int


@dataclass(frozen=True)
class StepResult:
    """A step with its loss, summed over its tokens, and its gradient norm."""

    step: int
    positions: tuple[int, ...]
    loss: float
    norm: float
    tokens: int
    parts: int

    @property
    def finite(self) -> bool:
        """Whether loss and gradient were finite, so that the step changed the weights."""
        return isfinite(self.loss) and isfinite(self.norm)

    @property
    def split(self) -> bool:
        """Whether a batch did not fit into memory and was split."""
        return self.parts > len(self.positions)

    def skipped_event(self, batches: BatchStream) -> Skipped:
        """The event of a step that was not finite, with the examples of its batches."""
        examples = [row for position in self.positions for row in batches.example_ids(position)]
        reason = f"loss {self.loss}, gradient {self.norm}"
        return Skipped(self.step, self.positions, tuple(examples), reason)


def read_results(steps: Sequence[PendingStep]) -> list[StepResult]:
    """Read the results of several steps; this waits for the device once."""
    losses, norms = torch.stack([torch.stack(step.result) for step in steps]).T.tolist()
    return [
        StepResult(step.step, step.positions, loss, norm, step.tokens, step.parts)
        for step, loss, norm in zip(steps, losses, norms, strict=True)
    ]
