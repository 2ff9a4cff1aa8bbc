"""Attention statistics of a test set: entropy and coverage of the source."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.attention_maps import row_entropy
from dhyan.errors import UserError


@dataclass(frozen=True)
class AttentionStatistics:
    """Means over all target words (both entropies) and over all source words (coverage)."""

    entropy_bits: float
    relative_entropy: float
    coverage: float
    sentences: int


def relative_entropy(weights: Float[Tensor, "T S"]) -> Float[Tensor, " T"]:
    """The entropy of each row as a share of its maximum, comparable between lengths."""
    positions = weights.shape[-1]
    entropy = row_entropy(weights)
    return entropy / log2(positions) if positions > 1 else entropy


def coverage(weights: Float[Tensor, "T S"]) -> Float[Tensor, " S"]:
    """The total weight on each source word over all target words, at most 1."""
    return weights.sum(dim=0).clamp_max(1.0)


def attention_statistics(maps: Sequence[Float[Tensor, "_ _"]]) -> AttentionStatistics:
    """Statistics over each sentence's weights, which have `</s>` as the last column.

    `</s>` can be attended to, so it counts in the entropies; it needs no coverage.
    """
    if not maps:
        raise UserError("no attention to measure: every translation is empty")
    return AttentionStatistics(
        entropy_bits=_mean([row_entropy(weights) for weights in maps]),
        relative_entropy=_mean([relative_entropy(weights) for weights in maps]),
        coverage=_mean([coverage(weights[:, :-1]) for weights in maps]),
        sentences=len(maps),
    )


def _mean(values: Sequence[Float[Tensor, " _"]]) -> float:
    return float(torch.cat(list(values)).double().mean())
