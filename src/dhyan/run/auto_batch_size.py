"""The largest batch that fits into memory, found by measuring small ones."""

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

Trial = Callable[[int, int], int]  # rows and their length → bytes held meanwhile
FEW, MORE, SHORT = 2, 6, 4  # rows, rows, tokens
MULTIPLE = 256
MOST = 65_536  # larger batches keep no device busier, and leave an epoch too few updates
CPU_SHARE, CUDA_SHARE, BACK_OFF = 0.5, 0.9, 0.8


def choose_batch_size(
    recipe: Recipe,
    model: Seq2Seq,
    objective: Objective,
    examples: Examples,
    *,
    device: torch.device,
) -> Recipe:
    """The recipe with a `tokens_per_batch`: its own, or the largest that fits if it says 0."""
    if recipe.training.tokens_per_batch:
        return recipe
    trial = PassAndBack(model, objective, recipe.training.steps, device)
    memory, kept = available(device), kept_bytes(model, device)
    least = recipe.data.max_tokens + 2
    longest = (
        least if examples.bpe_dropout else longest_of(examples)
    )  # cut anew, any may be as long
    room = min(kept, memory) if device.type == "cuda" else 0  # held: only CUDA says when it is full
    held = torch.empty(room, dtype=torch.uint8, device=device)
    found = largest(trial, memory - kept, least=least, longest=longest)
    del held
    why = "more is of no use" if found == MOST else "the largest that fits"
    logger.info(f"training.tokens_per_batch = {found:,}: {why}")
    return replace(recipe, training=replace(recipe.training, tokens_per_batch=found))


def largest(trial: Trial, memory: int, *, least: int, longest: int) -> int:
    """The largest budget of tokens, a multiple of 256, whose worst batch stays within the memory.

    The bytes of a batch are a straight line in its rows. It is drawn from two small batches, for
    the longest sentences and for short ones, and the steeper one counts. The budget found is then
    tried, and lowered as long as the device refuses it.
    """
    a_token, fixed = 0.0, 0.0
    for length in (SHORT, longest):
        few, more = trial(FEW, length), trial(MORE, length)
        a_row = (more - few) / (MORE - FEW)
        a_token, fixed = max(a_token, a_row / length), max(fixed, few - FEW * a_row)
    budget = int(min(MOST, max(0.0, memory - fixed) / max(a_token, 1e-9)))
    while budget >= least and not fits(trial, budget // longest, longest):
        budget = int(budget * BACK_OFF)
    if budget < least:
        raise UserError(
            f"a batch of {least:,} tokens, the least for data.max_tokens, needs "
            f"{(fixed + least * a_token) / 2**20:,.0f} MiB and {max(0, memory) / 2**20:,.0f} are "
            f"free: make the model or data.max_tokens smaller"
        )
    return max(least, budget // MULTIPLE * MULTIPLE)


def fits(trial: Trial, rows: int, length: int) -> bool:
    """Whether the device has the memory for such a batch."""
    try:
        trial(max(rows, 1), length)
    except torch.OutOfMemoryError:
        return False
    return True


@dataclass(frozen=True)
class PassAndBack:
    """Tries a batch: one pass through the model and back, as at the last step.

    Then the decoder is told the fewest of its words, which takes most memory. A CUDA device says
    how much it gave out at most, and says no when it is too much. Elsewhere, what the way back
    needs is counted on the way there, and large batches are believed, not tried.
    """

    model: Seq2Seq
    objective: Objective
    step: int
    device: torch.device

    def __call__(self, rows: int, length: int) -> int:
        """The bytes held at most, beyond the weights."""
        self.model.train()
        batch = full_batch(rows, length).to(self.device)
        if self.device.type != "cuda":
            return self._saved(batch) if rows <= MORE else 0
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(self.device)
        before = torch.cuda.memory_allocated(self.device)
        try:
            self.objective(self.model, batch, self.step).backward()
        finally:
            self.model.zero_grad(set_to_none=True)
        return torch.cuda.max_memory_allocated(self.device) - before

    def _saved(self, batch: Batch) -> int:
        """The bytes of all that is kept for the way back, each once."""
        sizes: dict[int, int] = {}

        def note(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr()] = storage.nbytes()
            return tensor

        with saved_tensors_hooks(note, lambda tensor: tensor):
            loss = self.objective(self.model, batch, self.step)
        del loss  # until here, so that no place in memory was used twice
        return sum(sizes.values())


def full_batch(rows: int, length: int) -> Batch:
    """A batch without padding; the words do not matter."""
    tokens = Tokens(torch.full((rows, length), EOS), torch.ones(rows, length, dtype=torch.bool))
    return Batch(tokens, tokens)


def longest_of(examples: Examples, chunk: int = 2**20) -> int:
    """The most tokens a side of any example has."""
    starts = range(0, len(examples), chunk)
    parts = (np.arange(start, min(start + chunk, len(examples))) for start in starts)
    return max(int(side.max()) for part in parts for side in examples.lengths(part))


def available(device: torch.device) -> int:
    """The bytes a run may take.

    On a CUDA device nine tenths of what is free; elsewhere half of it, because others work on the
    machine too and the way back holds more for moments than is counted. A container that may have
    less than its machine has counts.
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


def group_limits(root: Path, own: Path) -> list[int]:
    """The bytes left to each control group (version 2) that this process is in, where it is told.

    What a group uses counts without the files it could forget, as in MemAvailable.
    """
    try:
        (line,) = (line for line in own.read_text().splitlines() if line.startswith("0::"))
        place = root / line.removeprefix("0::").strip("/")
    except (OSError, ValueError):
        place = root
    found = []
    for folder in (place, *place.parents):
        if folder.is_relative_to(root):
            try:
                most, used, stat = (
                    (folder / f"memory.{name}").read_text() for name in ("max", "current", "stat")
                )
                files = dict(line.split() for line in stat.splitlines()).get("inactive_file", 0)
                found.append(max(0, int(most) - int(used) + int(files)))
            except (OSError, ValueError):  # no such limit: `max` says "max"
                continue
    return found


def kept_bytes(model: Seq2Seq, device: torch.device) -> int:
    """What a run keeps beside the weights: two moments and an average, and gradients if not CUDA's.

    On a CUDA device the trial itself holds the gradients.
    """
    weights = sum(weight.nbytes for weight in model.parameters())
    return weights * (3 if device.type == "cuda" else 4)
