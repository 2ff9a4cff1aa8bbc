"""How spread the weights of an attention are, and how much of the source they reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.errors import UserError


@dataclass(frozen=True)
class AttentionFigures:
    """Means over all target words (both entropies) and over all source words (coverage)."""

    entropy_bits: float
    relative_entropy: float
    coverage: float
    sentences: int


def entropy(weights: Float[Tensor, "T S"]) -> Float[Tensor, " T"]:
    """The entropy of each row in bits: 0 for all weight in one place, log2 S for an even spread.

    A row that does not sum to one, as a local attention's, is brought to it; one of zeros has 0.
    """
    total = weights.sum(dim=-1, keepdim=True)
    shares = torch.where(total > 0, weights / total.clamp_min(1e-38), 0.0)
    return torch.special.entr(shares).sum(dim=-1) / torch.tensor(2.0).log()


def relative_entropy(weights: Float[Tensor, "T S"]) -> Float[Tensor, " T"]:
    """The entropy of each row as a share of the most it could be, so that lengths compare."""
    places = weights.shape[-1]
    return entropy(weights) / log2(places) if places > 1 else entropy(weights)


def coverage(weights: Float[Tensor, "T S"]) -> Float[Tensor, " S"]:
    """How much each source word was attended to by all target words together, 1 at the most."""
    return weights.sum(dim=0).clamp_max(1.0)


def attention_figures(maps: Sequence[Float[Tensor, "_ _"]]) -> AttentionFigures:
    """The figures of a test set, from each sentence's weights with `</s>` as the last column.

    The end of the sentence is a place to look, so it counts in the entropies; it is no word that
    needs to be covered.
    """
    if not maps:
        raise UserError("no attention to measure: every translation is empty")
    return AttentionFigures(
        entropy_bits=_mean([entropy(one) for one in maps]),
        relative_entropy=_mean([relative_entropy(one) for one in maps]),
        coverage=_mean([coverage(one[:, :-1]) for one in maps]),
        sentences=len(maps),
    )


def _mean(parts: Sequence[Float[Tensor, " _"]]) -> float:
    return float(torch.cat(list(parts)).double().mean())
