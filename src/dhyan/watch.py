"""Watching attention without the model knowing."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class AttentionMap:
    """One attention's weights over a sentence: a row per word that asks, a column per word seen."""

    where: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Float[Tensor, "H T S"]
