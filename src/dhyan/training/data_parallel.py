"""Data parallelism: processes that train one model share the work of a step and agree on its result."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from dhyan.checkpoint import CheckpointWriteError
from dhyan.errors import UserError

Value = TypeVar("Value")
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
FACTOR, MASK_63 = 1099511628211, 2**63 - 1


@dataclass(frozen=True)
class DataParallel:
    """This process among those that train a model; alone, it has the whole work and agrees at once.

    What is exchanged is tensors and JSON, never a pickle. `group` is None for all processes.
    """

    rank: int = 0
    count: int = 1
    group: distributed.ProcessGroup | None = None

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and reports progress."""
        return self.rank == 0

    def block(self, items: int, rank: int | None = None) -> range:
        """Which of so many items in a row are the work of a process, by default this one."""
        rank = self.rank if rank is None else rank
        return range(items * rank // self.count, items * (rank + 1) // self.count)

    def sum_(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all processes, the same bits in each."""
        if self.count > 1:
            distributed.all_reduce(tensor, group=self.group)

    def send(self, tensor: Tensor, rank: int) -> None:
        """Send a tensor to a process that waits for it."""
        distributed.send(tensor, group=self.group, group_dst=rank)

    def receive_(self, tensor: Tensor, rank: int) -> None:
        """Fill a tensor with what a process sends."""
        distributed.recv(tensor, group=self.group, group_src=rank)

    def broadcast_(self, tensor: Tensor) -> None:
        """Fill a tensor with that of the first process."""
        if self.count > 1:
            distributed.broadcast(tensor, group=self.group, group_src=0)

    def gather(self, value: Value) -> list[Value]:
        """The value of every process, by rank; it is written as JSON in between."""
        if self.count == 1:
            return [value]
        data = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.count)]
        distributed.all_gather(sizes, torch.tensor([len(data)]), group=self.group)
        longest = max(map(int, sizes))
        padded = torch.zeros(longest, dtype=torch.uint8)
        padded[: len(data)] = data
        parts = [torch.zeros_like(padded) for _ in range(self.count)]
        distributed.all_gather(parts, padded, group=self.group)
        texts = (
            bytes(part[:size].tolist()) for part, size in zip(parts, map(int, sizes), strict=True)
        )
        return [json.loads(text) for text in texts]

    def map(
        self, items: Sequence[Value], compute: Callable[[Sequence[Value]], list[Any]]
    ) -> list[Any]:
        """What `compute` makes of each item; every process does its part of them."""
        parts = self.gather(compute(items[self.rank :: self.count]))
        return [parts[index % self.count][index // self.count] for index in range(len(items))]

    def from_first(self, call: Callable[[], Value]) -> Value:
        """What the first process gets from a call, in all of them; a user's error is raised in all.

        The value is written as JSON in between.
        """
        if self.count == 1:
            return call()
        outcome: dict[str, Any] = {}
        if self.is_first:
            try:
                outcome = {"value": call()}
            except UserError as error:
                failed_save = isinstance(error, CheckpointWriteError)
                outcome = {"error": "; ".join(error.problems), "failed_save": failed_save}
                self.gather(outcome)
                raise
        outcome = self.gather(outcome)[0]
        if "error" in outcome:
            raise (CheckpointWriteError if outcome["failed_save"] else UserError)(outcome["error"])
        return outcome["value"]

    def check_equal(self, tensors: Mapping[str, Tensor], state: Any, what: str) -> None:
        """Stop if any process has other numbers than the first: nothing wrong is ever saved."""
        if self.count == 1:
            return
        alike = [tensor for _, tensor in sorted(tensors.items()) if not is_sharded(tensor)]
        values = self.gather([bit_sum(alike), state])
        for rank, value in enumerate(values):
            if value != values[0]:
                raise RuntimeError(f"{what} of process {rank} differ from those of process 0")


@torch.no_grad()
def bit_sum(tensors: Sequence[Tensor]) -> int:
    """A checksum of the bits of tensors, computed where they are; it waits for the device once."""
    flat = [tensor.detach().contiguous().view(-1) for tensor in tensors]
    sums = [part.view(BITS[part.element_size()]).sum(dtype=torch.int64).cpu() for part in flat]
    total = 0
    for word in torch.stack(sums).tolist() if sums else ():
        total = (total * FACTOR + word) & MASK_63
    return total


def is_sharded(tensor: Tensor) -> bool:
    """Whether this process holds only a part of a tensor."""
    module = sys.modules.get("torch.distributed.tensor")  # a second to import, if nobody did
    return module is not None and isinstance(tensor, module.DTensor)


def local(tensor: Any) -> Tensor:
    """The part of a tensor that this process holds: all of it, if it is not sharded."""
    return tensor.to_local() if is_sharded(tensor) else tensor


def whole(tensor: Any) -> Tensor:
    """A tensor with the parts of all processes, which have to call this together."""
    return tensor.full_tensor() if is_sharded(tensor) else tensor


def sharded_like(weight: Any, tensor: Tensor) -> Tensor:
    """A tensor that every process has on the device of a weight, and sharded as that is."""
    tensor = tensor.to(weight.device)
    if not is_sharded(weight) or tensor.shape != weight.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor, weight.device_mesh, weight.placements, src_data_rank=None)
