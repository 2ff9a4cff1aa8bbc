"""One update of the weights: forward, backward, clipping, optimizer step, and its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.kernels.backend import reference_kernels
from dhyan.kernels.cpu.products import fast_products
from dhyan.models.seq2seq import Seq2Seq
from dhyan.seeds import derive_seed
from dhyan.training.data_parallel import DataParallel
from dhyan.training.ema import WeightEMA
from dhyan.training.events import Skipped
from dhyan.training.gradients import AllReduce, GradientSum, LocalSum, TreeSum
from dhyan.training.loss import Objective
from dhyan.training.steps import BatchStream, MicroBatch

LossAndNorm = tuple[Float[Tensor, ""], Float[Tensor, ""]]
"""Loss of a step, summed over its tokens, and its gradient norm; both on the device."""


@dataclass(frozen=True, kw_only=True)
class UpdateContext:
    """What an update needs: model, optimizer, objective, moving average, clipping.

    All that is random in a step follows from the seed, the step, and the number of the batch. If
    `exact_batches` is not 0, every step has so many, and their gradients are summed in a fixed order.
    """

    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    objective: Objective
    ema: WeightEMA | None
    device: torch.device
    clip_norm: float
    seed: int
    parallel: DataParallel = DataParallel()
    exact_batches: int = 0

    def seed_batch(self, step: int, path: tuple[int, ...]) -> None:
        """Seed the random numbers of one of the micro-batches of a step."""
        torch.manual_seed(derive_seed(self.seed, step, *path))

    def gradient_sum(self) -> GradientSum:
        """How the gradients of a step are summed."""
        weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        if self.exact_batches:
            return TreeSum(weights, self.device, self.parallel, self.exact_batches)
        if self.parallel.count > 1:
            return AllReduce(weights, self.device, self.parallel)
        return LocalSum(weights, self.device)

    def same_objects(self, other: "UpdateContext") -> bool:
        """Whether every field is the same object as the other's."""
        return all(mine is vars(other)[name] for name, mine in vars(self).items())


@runtime_checkable
class Update(Protocol):
    """Computes a step: eagerly, or by replaying CUDA graphs."""

    @property
    def exchanged(self) -> bool:
        """Whether other processes have had this one's part of the step, which can't be repeated."""
        ...

    def __call__(
        self, micro_batches: Sequence[MicroBatch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Update the weights with the gradient of some batches.

        With those of the other processes they have `tokens` labels. A step without a finite loss
        and gradient changes nothing.
        """
        ...

    def release_memory(self) -> None:
        """Discard a step that ran out of memory; it is repeated in smaller parts."""
        ...


class EagerUpdate:
    """PyTorch's eager execution; with `reference_kernels`, without fused kernels.

    It waits for the device once in every step, to learn whether loss and gradient are finite.
    """

    def __init__(self, context: UpdateContext, *, reference_kernels: bool = False) -> None:
        self.context = context
        self.reference_kernels = reference_kernels
        self.gradients = context.gradient_sum()

    def __call__(
        self, micro_batches: Sequence[MicroBatch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Sum the gradients of the batches, clip, update the weights and their moving average."""
        context, gradients = self.context, self.gradients
        gradients.clear()
        for batches in by_number(micro_batches):
            for part in batches:
                context.seed_batch(step, part.path)
                with reference_kernels() if self.reference_kernels else fast_products():
                    loss = context.objective(context.model, part.batch, step)
                    (loss / tokens).backward()
                gradients.loss += loss.detach()
            gradients.end_micro_batch()
        gradients.end_step()
        total = gradients.loss.clone()
        norm = nn.utils.clip_grad_norm_(context.model.parameters(), context.clip_norm)
        if not is_finite(total, norm):
            gradients.clear()
            return total, norm
        for group in context.optimizer.param_groups:
            group["lr"] = rate
        context.optimizer.step()
        if context.ema:
            context.ema.update(context.model, step)
        return total, norm

    @property
    def exchanged(self) -> bool:
        """Whether other processes have had this one's part of the step."""
        return self.gradients.exchanged

    def release_memory(self) -> None:
        """Free the gradients and the cache of the allocator."""
        self.gradients.clear()
        empty_cache(self.context.device)


def by_number(micro_batches: Sequence[MicroBatch]) -> list[list[MicroBatch]]:
    """Micro-batches with the parts of each, if it was split for lack of memory, together."""
    return [list(parts) for _, parts in groupby(micro_batches, key=lambda part: part.path[0])]


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

    `positions` are where its batches begin, `parts` in how many parts this process computed its
    share, and `split` whether some of them did not fit into memory and were split.
    """

    step: int
    positions: tuple[int, ...]
    result: LossAndNorm
    tokens: int
    parts: int
    split: bool


@dataclass(frozen=True)
class StepResult:
    """A step with its loss, summed over its tokens, and its gradient norm."""

    step: int
    positions: tuple[int, ...]
    loss: float
    norm: float
    tokens: int
    parts: int
    split: bool

    @property
    def finite(self) -> bool:
        """Whether loss and gradient were finite, so that the step changed the weights."""
        return isfinite(self.loss) and isfinite(self.norm)

    def skipped_event(self, batches: BatchStream) -> Skipped:
        """The event of a step that was not finite, with the examples of its batches."""
        examples = [row for position in self.positions for row in batches.example_ids(position)]
        reason = f"loss {self.loss}, gradient {self.norm}"
        return Skipped(self.step, self.positions, tuple(examples), reason)


def read_results(steps: Sequence[PendingStep], parallel: DataParallel) -> list[StepResult]:
    """Read the results of several steps; this waits for the device once, and for the processes."""
    losses, norms = torch.stack([torch.stack(step.result) for step in steps]).T.tolist()
    everywhere = parallel.gather([(step.parts, step.split) for step in steps])
    return [
        StepResult(
            step.step,
            step.positions,
            loss,
            norm,
            step.tokens,
            parts=sum(count for count, _ in computed),
            split=any(split for _, split in computed),
        )
        for step, loss, norm, computed in zip(
            steps, losses, norms, zip(*everywhere, strict=True), strict=True
        )
    ]
