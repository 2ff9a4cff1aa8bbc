"""One update of the weights, from batches to the optimizer and the average."""

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
"""A step's loss, summed over its words, and its gradient's norm; both still on the device."""


@dataclass(frozen=True, kw_only=True)
class UpdateParts:
    """What an update changes, and what it is to bring about.

    All that is random in a step follows from the seed, the step, and which of its batches it is.
    """

    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    objective: Objective
    ema: WeightEMA | None
    device: torch.device
    clip: float
    seed: int

    def seed_batch(self, step: int, part: int) -> None:
        """Set the random numbers of one of a step's batches."""
        torch.manual_seed(derive_seed(self.seed, step, part))

    def same_objects(self, other: "UpdateParts") -> bool:
        """Whether all of it is the very same."""
        return all(mine is vars(other)[name] for name, mine in vars(self).items())


@runtime_checkable
class Update(Protocol):
    """A way to take a step."""

    def __call__(
        self, batches: Sequence[Batch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Learn from batches that have so many words to say in all.

        A step that finds no finite loss and gradient leaves everything as it is.
        """
        ...

    def release_memory(self) -> None:
        """Forget a step that broke off for want of memory; it is taken again in smaller parts."""
        ...


@dataclass(frozen=True)
class EagerUpdate:
    """Kernel after kernel, as PyTorch does it; with `reference_kernels`, by the definitions alone."""

    parts: UpdateParts
    reference_kernels: bool = False

    def __call__(
        self, batches: Sequence[Batch], *, tokens: int, step: int, rate: float
    ) -> LossAndNorm:
        """Add up the gradients of the batches, clip them, move the weights and their average."""
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
        """Let go of the gradients, and of what the device keeps for later."""
        self.parts.optimizer.zero_grad(set_to_none=True)
        empty_cache(self.parts.device)


def is_finite(loss: Float[Tensor, ""], norm: Float[Tensor, ""]) -> Bool[Tensor, ""]:
    """Whether a step may be taken; the answer stays on the device."""
    return torch.isfinite(loss) & torch.isfinite(norm)


def step_if(moves: Bool[Tensor, ""], optimizer: torch.optim.Optimizer) -> None:
    """Let a fused optimizer take its step, or leave everything as it is, as the device has it."""
    own = vars(optimizer)
    own["found_inf"] = (~moves).float()
    try:
        optimizer.step()
    finally:
        del own["found_inf"]


def empty_cache(device: torch.device) -> None:
    """Give back the memory that PyTorch holds and nobody uses."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
