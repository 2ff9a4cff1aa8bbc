"""Attention head statistics: entropy, mean distance, weight on the previous word."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.attention_maps import row_entropy
from dhyan.errors import UserError


def entropy(weights: Float[Tensor, "*H T S"]) -> Float[Tensor, "*H"]:
    """Mean entropy of the rows in bits."""
    return row_entropy(weights).mean(dim=-1)


def distance(weights: Float[Tensor, "*H T T"]) -> Float[Tensor, "*H"]:
    """Mean distance in positions from a word to what it attends to, weighted by attention."""
    positions = torch.arange(weights.shape[-1], device=weights.device)
    distances = (positions - positions.unsqueeze(-1)).abs()
    return (weights * distances).sum(dim=-1).mean(dim=-1)


def previous_share(weights: Float[Tensor, "*H T T"]) -> Float[Tensor, "*H"]:
    """Mean weight on the previous word; the first word has none."""
    if weights.shape[-1] < 2:
        raise UserError("the share of the previous word needs at least two words")
    return weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=-1)


def target_share(weights: Float[Tensor, "*H T S"], targets: Sequence[int]) -> Float[Tensor, "*H"]:
    """Mean weight of each row on its target column; a negative target means none."""
    rows, columns = weights.shape[-2:]
    if len(targets) != rows:
        raise UserError(f"{len(targets)} targets for {rows} rows of weights: give one for each row")
    pairs = [(row, target) for row, target in enumerate(targets) if target >= 0]
    if not pairs:
        raise UserError("no row has a target: give the column of at least one")
    if (largest := max(target for _, target in pairs)) >= columns:
        raise UserError(f"target {largest} is beyond the last column, {columns - 1}")
    return weights[..., [row for row, _ in pairs], [target for _, target in pairs]].mean(dim=-1)
