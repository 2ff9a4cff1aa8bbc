"""Out of memory: a step that does not fit is repeated with its batches split."""

from collections.abc import Sequence

import torch

from dhyan.batch import Batch
from dhyan.errors import UserError
from dhyan.training.update import LossAndNorm, Update


def step_with_splitting(
    update: Update, batches: Sequence[Batch], *, tokens: int, step: int, rate: float
) -> tuple[LossAndNorm, int]:
    """Take a step; returns its result and in how many parts it was computed.

    When memory runs out nothing has changed yet: every batch is split in two, and the step is
    repeated. Its gradient is a sum over the same tokens; each part draws its own dropout masks, so
    with dropout it is not the gradient of the whole batch bit for bit.
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
    """Split every batch in two, by rows."""
    if all(len(batch.source) == 1 for batch in batches):
        lengths = (side.mask.shape[1] for batch in batches for side in (batch.source, batch.target))
        raise UserError(
            f"out of memory: a single pair of up to {max(lengths):,} tokens a side does not fit; "
            f"make the model or data.max_tokens smaller"
        )
    return [half for batch in batches for half in _halves(batch)]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of PyTorch, on any device, or of Python says that memory ran out."""
    by_type = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return by_type or "allocate memory" in str(error)


def _halves(batch: Batch) -> list[Batch]:
    rows = len(batch.source)
    parts = (slice(0, (rows + 1) // 2), slice((rows + 1) // 2, rows))
    return [
        Batch(batch.source.select(part), batch.target.select(part))
        for part in parts
        if part.start < part.stop
    ]
