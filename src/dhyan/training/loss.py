"""What training makes small: cross-entropy over the real tokens."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from dhyan.batch import Tokens
from dhyan.special import PAD


def cross_entropy(
    logits: Float[Tensor, "B T V"], labels: Tokens, *, smoothing: float
) -> tuple[Float[Tensor, ""], int]:
    """The summed loss and the number of tokens it is summed over.

    With smoothing, that share of the target's probability is spread over the whole vocabulary
    (Szegedy et al., 2016), so that the model is not driven to certainty.
    """
    wanted = labels.ids.masked_fill(~labels.mask, PAD).flatten()
    loss = functional.cross_entropy(
        logits.flatten(0, 1).float(),
        wanted,
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
    return loss, int(labels.mask.sum())


def token_count(labels: Tokens) -> int:
    """How many tokens a loss over these labels is summed over."""
    return int(torch.count_nonzero(labels.mask))
