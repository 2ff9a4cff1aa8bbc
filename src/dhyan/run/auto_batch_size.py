"""Automatic batch size: the largest that fits into memory, from measuring small batches."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch.autograd.graph import saved_tensors_hooks

from dhyan.batch import Batch, Tokens
from dhyan.config import Recipe
from dhyan.data.store import Examples
from dhyan.errors import UserError
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import EOS
from dhyan.training.loss import Objective

logger = logging.getLogger(__name__)

Measure = Callable[[int, int], int]  # rows and their length → peak bytes
FEW_ROWS, MORE_ROWS, SHORT = 2, 6, 4  # rows, rows, tokens
MULTIPLE = 256
MAX_TOKENS = 65_536  # larger batches use no device better, and leave too few updates an epoch
CPU_SHARE, CUDA_SHARE, BACK_OFF = 0.5, 0.9, 0.8  # of free memory, of it, of a size that failed


def choose_batch_size(
    recipe: Recipe,
    model: Seq2Seq,
    objective: Objective,
    examples: Examples,
    *,
    device: torch.device,
    processes: int = 1,
) -> Recipe:
    """The recipe with `tokens_per_batch`: its own, or the largest that fits if it is 0.

    So many processes share the memory of the machine; each has its own GPU, if it has one.
    """
    if recipe.training.tokens_per_batch:
        return recipe
    measure = PeakMemory(model, objective, recipe.training.steps, device)
    memory, state = available(device), state_bytes(model, device)
    memory //= processes if device.type == "cpu" else 1
    min_tokens = recipe.data.max_tokens + 2
    # With BPE-dropout any example may become as long as allowed.
    longest = min_tokens if examples.bpe_dropout else longest_of(examples)
    # Only CUDA reports when memory is full, so the optimizer state is reserved meanwhile.
    reserved_bytes = min(state, memory) if device.type == "cuda" else 0
    reserved = torch.empty(reserved_bytes, dtype=torch.uint8, device=device)
    tokens = largest(measure, memory - state, min_tokens=min_tokens, longest=longest)
    del reserved
    reason = "more is of no use" if tokens == MAX_TOKENS else "the largest that fits"
    logger.info(f"training.tokens_per_batch = {tokens:,}: {reason}")
    return replace(recipe, training=replace(recipe.training, tokens_per_batch=tokens))


def largest(measure: Measure, memory: int, *, min_tokens: int, longest: int) -> int:
    """The largest number of tokens, a multiple of 256, whose worst batch fits into memory.

    The memory of a batch is linear in its rows. The line is fitted to two small batches, for the
    longest sentences and for short ones, and the steeper one counts. The result is then tried, and
    lowered as long as memory runs out.
    """
    per_token, fixed = 0.0, 0.0
    for length in (SHORT, longest):
        few, more = measure(FEW_ROWS, length), measure(MORE_ROWS, length)
        per_row = (more - few) / (MORE_ROWS - FEW_ROWS)
        per_token = max(per_token, per_row / length)
        fixed = max(fixed, few - FEW_ROWS * per_row)
    tokens = int(min(MAX_TOKENS, max(0.0, memory - fixed) / max(per_token, 1e-9)))
    while tokens >= min_tokens and not fits(measure, tokens // longest, longest):
        tokens = int(tokens * BACK_OFF)
    if tokens < min_tokens:
        needed, free = fixed + min_tokens * per_token, max(0, memory)
        raise UserError(
            f"a batch of {min_tokens:,} tokens, the least for data.max_tokens, needs "
            f"{needed / 2**20:,.0f} MiB and {free / 2**20:,.0f} are free: make the model or "
            f"data.max_tokens smaller"
        )
    return max(min_tokens, tokens // MULTIPLE * MULTIPLE)


def fits(measure: Measure, rows: int, length: int) -> bool:
    """Whether a batch fits into the memory of the device."""
    try:
        measure(max(rows, 1), length)
    except torch.OutOfMemoryError:
        return False
    return True


@dataclass(frozen=True)
class PeakMemory:
    """Measures the memory of one forward and backward pass, as at the last step.

    Then teacher forcing is lowest, which takes most memory. A CUDA device reports its peak, and
    raises an error when memory runs out. Elsewhere the tensors saved for the backward pass are
    summed, and large batches are not tried.
    """

    model: Seq2Seq
    objective: Objective
    step: int
    device: torch.device

    def __call__(self, rows: int, length: int) -> int:
        """Peak bytes beyond the weights."""
        self.model.train()
        batch = full_batch(rows, length).to(self.device)
        if self.device.type != "cuda":
            return self._saved_bytes(batch) if rows <= MORE_ROWS else 0
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self.device)
        before = torch.cuda.memory_allocated(self.device)
        try:
            self.objective(self.model, batch, self.step).backward()
        finally:
            self.model.zero_grad(set_to_none=True)
        return torch.cuda.max_memory_allocated(self.device) - before

    def _saved_bytes(self, batch: Batch) -> int:
        """Bytes of all tensors saved for the backward pass, each storage once."""
        sizes: dict[int, int] = {}

        def add(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr()] = storage.nbytes()
            return tensor

        with saved_tensors_hooks(add, lambda tensor: tensor):
            loss = self.objective(self.model, batch, self.step)
        del loss  # only now, so that no memory was used twice
        return sum(sizes.values())


def full_batch(rows: int, length: int) -> Batch:
    """A batch without padding; the tokens do not matter."""
    tokens = Tokens(torch.full((rows, length), EOS), torch.ones(rows, length, dtype=torch.bool))
    return Batch(tokens, tokens)


def longest_of(examples: Examples, chunk: int = 2**20) -> int:
    """The number of tokens of the longest side of any example."""
    starts = range(0, len(examples), chunk)
    parts = (np.arange(start, min(start + chunk, len(examples))) for start in starts)
    return max(int(side.max()) for part in parts for side in examples.lengths(part))


def available(device: torch.device) -> int:
    """Bytes that training may use.

    On a CUDA device 90 % of the free memory; elsewhere half of it, because other processes use the
    machine and the backward pass needs more for moments than is measured. The limits of the control
    groups of a container count too.
    """
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return int(CUDA_SHARE * torch.cuda.mem_get_info(device)[0])
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        raise UserError(
            "training.tokens_per_batch = 0: this system does not say how much memory is free; "
            "give a number"
        ) from None
    limits = group_limits(Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"))
    return int(CPU_SHARE * min([1024 * int(free.split()[1]), *limits]))


def group_limits(root: Path, membership: Path) -> list[int]:
    """Free bytes of each control group (version 2) of this process that has a limit.

    Cached files that can be dropped do not count as used, as in MemAvailable.
    """
    try:
        (line,) = (line for line in membership.read_text().splitlines() if line.startswith("0::"))
        group = root / line.removeprefix("0::").strip("/")
    except (OSError, ValueError):
        group = root
    free = []
    for folder in (group, *group.parents):
        if folder.is_relative_to(root):
            try:
                limit, used, stat = (
                    (folder / f"memory.{name}").read_text() for name in ("max", "current", "stat")
                )
                files = dict(line.split() for line in stat.splitlines()).get("inactive_file", 0)
                free.append(max(0, int(limit) - int(used) + int(files)))
            except (OSError, ValueError):  # no limit: memory.max is "max"
                continue
    return free


def state_bytes(model: Seq2Seq, device: torch.device) -> int:
    """Bytes of Adam's two moments and the moving average, and off CUDA of the gradients.

    On a CUDA device the measurement itself includes the gradients.
    """
    weights = sum(weight.nbytes for weight in model.parameters())
    return weights * (3 if device.type == "cuda" else 4)
