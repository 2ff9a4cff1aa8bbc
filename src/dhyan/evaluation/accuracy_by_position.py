"""Where in a sentence a model says the right word, if it is told all the words before it."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.batch import Batch
from dhyan.special_tokens import EOS

PARTS = 5


@dataclass(frozen=True)
class PositionFigures:
    """The share of target tokens that were the likeliest, for each fifth of their sentence."""

    shares: tuple[float, ...]
    tokens: tuple[int, ...]


def position_figures(
    answered: Iterable[tuple[Float[Tensor, "B T V"], Batch]],
) -> PositionFigures:
    """Logits, told the reference, beside the batch they are of; the end of a sentence is no word.

    A sentence's first token falls into the first fifth, whatever its length, and its last into
    the last if it has five tokens or more.
    """
    right, total = torch.zeros(PARTS, dtype=torch.long), torch.zeros(PARTS, dtype=torch.long)
    for logits, batch in answered:
        labels = batch.labels
        words = labels.mask & (labels.ids != EOS)
        places = fifths(words.sum(dim=1), labels.ids.shape[1])[words].cpu()
        met = (logits.argmax(dim=-1) == labels.ids)[words].cpu()
        right += torch.bincount(places[met], minlength=PARTS)
        total += torch.bincount(places, minlength=PARTS)
    shares = (right / total.clamp(min=1)).tolist()
    return PositionFigures(tuple(shares), tuple(total.tolist()))


def fifths(lengths: Int[Tensor, " B"], positions: int) -> Int[Tensor, "B T"]:
    """The fifth, from 0, in which each position of a sentence so long lies."""
    places = torch.arange(positions, device=lengths.device)
    found = PARTS * places // lengths.clamp(min=1).unsqueeze(1)
    return found.clamp(max=PARTS - 1)
