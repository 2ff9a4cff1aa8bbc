"""A step that is too large for the memory, taken in smaller parts."""

from collections.abc import Sequence

import torch

from dhyan.batch import Batch, Tokens
from dhyan.errors import UserError
from dhyan.training.update import LossAndNorm, Update


def step_with_splitting(
    update: Update, batches: Sequence[Batch], *, tokens: int, step: int, rate: float
) -> tuple[LossAndNorm, int]:
    """Take a step, and say in how many parts.

    Where the memory runs out nothing has changed yet: every batch is cut in two, and the step is
    repeated. Its gradient is the same sum over the same words.
    """
    parts = list(batches)
    while True:
        try:
            return update(parts, tokens=tokens, step=step, rate=rate), len(parts)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        update.release_memory()
        parts = split_batches(parts)


def split_batches(batches: Sequence[Batch]) -> list[Batch]:
    """The same rows in up to twice as many batches."""
    if all(len(batch.source) == 1 for batch in batches):
        sides = (max(one.ids.shape[1] for one in _sides(batch)) for batch in batches)
        raise UserError(
            f"out of memory: a single pair of up to {max(sides):,} tokens a side does not fit; "
            f"make the model or data.max_tokens smaller"
        )
    return [half for batch in batches for half in _halves(batch)]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether PyTorch, on whatever device, or Python could not get the memory it asked for."""
    named = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return named or "allocate memory" in str(error)


def _halves(batch: Batch) -> list[Batch]:
    rows = len(batch.source)
    parts = (slice(0, (rows + 1) // 2), slice((rows + 1) // 2, rows))
    return [
        Batch(*(Tokens(one.ids[part], one.mask[part]) for one in _sides(batch)))
        for part in parts
        if part.start < part.stop
    ]


def _sides(batch: Batch) -> tuple[Tokens, Tokens]:
    return batch.source, batch.target
