"""The gradient of a step, summed over batches and processes: by all-reduce, or in a fixed order."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.training.data_parallel import DataParallel


@runtime_checkable
class GradientSum(Protocol):
    """Collects the loss and the gradients of the micro-batches of a step.

    `exchanged` says whether other processes have had their part of them.
    """

    loss: Float[Tensor, ""]
    exchanged: bool

    def clear(self) -> None:
        """Begin a step: no loss, no gradients."""
        ...

    def restart(self) -> None:
        """Begin a step whose loss and gradients have been set to zero already."""
        ...

    def end_micro_batch(self) -> None:
        """The loss and the gradients of a micro-batch have been added to the others."""
        ...

    def end_step(self) -> None:
        """Sum over all processes: each then has the loss and the gradients of the whole step."""
        ...


class LocalSum:
    """One process adds the gradients of its micro-batches as autograd does."""

    def __init__(self, weights: Iterable[nn.Parameter], device: torch.device) -> None:
        self.weights = list(weights)
        self.loss = torch.zeros((), device=device)
        self.exchanged = False

    def clear(self) -> None:
        """Drop all gradients: a weight that gets none is left alone by the optimizer."""
        for weight in self.weights:
            weight.grad = None
        self.loss.zero_()

    def restart(self) -> None:
        """Nothing else was collected."""

    def end_micro_batch(self) -> None:
        """Autograd has added them."""

    def end_step(self) -> None:
        """There are no other processes."""


class AllReduce:
    """The gradients of all weights and the loss lie in one tensor, which one all-reduce sums.

    So a step is synchronised once, however many micro-batches it has. The sum is that of any order,
    which rounds differently for another number of processes.
    """

    def __init__(
        self, weights: Iterable[nn.Parameter], device: torch.device, parallel: DataParallel
    ) -> None:
        self.parallel, self.weights = parallel, list(weights)
        sizes = [weight.numel() for weight in self.weights]
        self.flat = torch.zeros(sum(sizes) + 1, device=device)
        *parts, loss = self.flat.split([*sizes, 1])
        self.gradients = [
            part.view_as(weight) for part, weight in zip(parts, self.weights, strict=True)
        ]
        self.loss = loss.squeeze(0)
        self.exchanged = False

    def clear(self) -> None:
        """Set all gradients to zero; they are parts of one tensor again."""
        self.restart()
        self.flat.zero_()
        for weight, gradient in zip(self.weights, self.gradients, strict=True):
            weight.grad = gradient

    def restart(self) -> None:
        """Nothing was exchanged yet."""
        self.exchanged = False

    def end_micro_batch(self) -> None:
        """Autograd has added to the tensor."""

    def end_step(self) -> None:
        """Sum the tensor over all processes."""
        self.exchanged = self.parallel.count > 1
        self.parallel.sum_(self.flat)


class TreeSum(AllReduce):
    """Sums micro-batches pairwise, always in the same order: the same bits for any number of processes.

    A binary tree over all micro-batches of a step says who is added to whom. Each process adds what
    lies within its block of them, and sends the rest to the owner of the left neighbour. It holds
    up to log₂ of its micro-batches sums at a time.
    """

    def __init__(
        self,
        weights: Iterable[nn.Parameter],
        device: torch.device,
        parallel: DataParallel,
        micro_batches: int,
    ) -> None:
        super().__init__(weights, device, parallel)
        self.micro_batches = micro_batches
        self._owners = [
            rank for rank in range(parallel.count) for _ in parallel.block(micro_batches, rank)
        ]
        self._sums: list[tuple[int, int, Tensor]] = []  # first micro-batch, how many, their sum
        self._next = 0
        self.restart()

    def restart(self) -> None:
        """Drop all sums."""
        super().restart()
        self._sums, self._next = [], self.parallel.block(self.micro_batches).start

    def end_micro_batch(self) -> None:
        """Add the micro-batch to its left neighbours in the tree, as far as they are complete."""
        start, size, total = self._next, 1, self.flat
        self._next += 1
        while self._sums and self._sums[-1][1] == size and start % (2 * size):
            start, _, left = self._sums.pop()
            total, size = left.add_(total), 2 * size
        self._sums.append((start, size, total.clone() if total is self.flat else total))
        self.flat.zero_()

    def end_step(self) -> None:
        """Add up the tree over all processes, level by level; the root is sent to all of them."""
        sums = {start: total for start, _, total in self._sums}
        self.restart()
        self.exchanged, size = self.parallel.count > 1, 1
        while size < self.micro_batches:
            for start in range(0, self.micro_batches - size, 2 * size):
                self._join(sums, start, start + size)
            size *= 2
        if self.parallel.is_first:
            self.flat.copy_(sums[0])
        self.parallel.broadcast_(self.flat)

    def _join(self, sums: dict[int, Tensor], left: int, right: int) -> None:
        """Add the sum that begins at `right` to the one that begins at `left`."""
        rank, owner, sender = self.parallel.rank, self._owners[left], self._owners[right]
        if owner == sender:
            if right in sums and rank == owner:
                sums[left].add_(sums.pop(right))
        elif rank == sender:
            self.parallel.send(sums.pop(right), owner)
        elif rank == owner:
            received = torch.empty_like(self.flat)
            self.parallel.receive_(received, sender)
            sums[left].add_(received)
