"""Out of memory: a step that does not fit is repeated with its batches split."""

from collections.abc import Sequence

import torch

from dhyan.errors import UserError
from dhyan.training.steps import MicroBatch
from dhyan.training.update import LossAndNorm, Update


def step_with_splitting(
    update: Update, micro_batches: Sequence[MicroBatch], *, tokens: int, step: int, rate: float
) -> tuple[LossAndNorm, int]:
    """Take a step; returns its result and in how many parts it was computed.

    When memory runs out nothing has changed yet: every batch is split in two, and the step is
    repeated. Its gradient is a sum over the same tokens; each part draws its own dropout masks, so
    with dropout it is not the gradient of the whole batch bit for bit. Of several processes each
    splits its own batches: they meet only when all gradients are there.
    """
    parts = list(micro_batches)
    while True:
        try:
            return update(parts, tokens=tokens, step=step, rate=rate), len(parts)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or update.exchanged:
                raise
        update.release_memory()
        parts = split_batches(parts)


def split_batches(micro_batches: Sequence[MicroBatch]) -> list[MicroBatch]:
    """Split every batch in two, by rows."""
    batches = [part.batch for part in micro_batches]
    if all(len(batch.source) == 1 for batch in batches):
        lengths = (side.mask.shape[1] for batch in batches for side in (batch.source, batch.target))
        raise UserError(
            f"out of memory: a single pair of up to {max(lengths):,} tokens a side does not fit; "
            f"make the model or data.max_tokens smaller"
        )
    return [half for part in micro_batches for half in part.halves()]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of PyTorch, on any device, or of Python says that memory ran out."""
    by_type = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return by_type or "allocate memory" in str(error)
