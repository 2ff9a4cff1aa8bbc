"""Token accuracy under teacher forcing, by relative position in the target sentence."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.batch import Batch
from dhyan.special_tokens import EOS

PARTS = 5


@dataclass(frozen=True)
class PositionAccuracy:
    """The share of correct tokens in each fifth of the target, and the token counts."""

    shares: tuple[float, ...]
    tokens: tuple[int, ...]


def accuracy_by_position(
    outputs: Iterable[tuple[Float[Tensor, "B T V"], Batch]],
) -> PositionAccuracy:
    """Accuracy over pairs of teacher-forced logits and their batch; EOS does not count.

    The first token is always in the first fifth, and the last in the last fifth of sentences of
    five tokens or more.
    """
    right, total = torch.zeros(PARTS, dtype=torch.long), torch.zeros(PARTS, dtype=torch.long)
    for logits, batch in outputs:
        labels = batch.labels
        mask = labels.mask & (labels.ids != EOS)
        parts = fifths(mask.sum(dim=1), labels.ids.shape[1])[mask].cpu()
        correct = (logits.argmax(dim=-1) == labels.ids)[mask].cpu()
        right += torch.bincount(parts[correct], minlength=PARTS)
        total += torch.bincount(parts, minlength=PARTS)
    shares = (right / total.clamp(min=1)).tolist()
    return PositionAccuracy(tuple(shares), tuple(total.tolist()))


def fifths(lengths: Int[Tensor, " B"], positions: int) -> Int[Tensor, "B T"]:
    """The fifth, from 0, of each position in sentences of these lengths."""
    indices = torch.arange(positions, device=lengths.device)
    parts = PARTS * indices // lengths.clamp(min=1).unsqueeze(1)
    return parts.clamp(max=PARTS - 1)
