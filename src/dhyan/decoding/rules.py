"""What a search may not say: functions that change the scores of the next word."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

Rule = Callable[[Int[Tensor, "R T"], Float[Tensor, "R V"]], Float[Tensor, "R V"]]
"""Given all that was said, row by row, and the scores of the next word: the scores it leaves."""


def never(*ids: int) -> Rule:
    """Words that are not to be said at all."""

    def rule(said: Int[Tensor, "R T"], scores: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
        unwanted = torch.tensor(ids, device=scores.device)
        return scores.index_fill(1, unwanted, -torch.inf)

    return rule
