"""What training makes small: cross-entropy over the real tokens."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from dhyan.batch import Tokens
from dhyan.special import PAD


def cross_entropy(
    logits: Float[Tensor, "B T V"], labels: Tokens, *, smoothing: float
) -> Float[Tensor, ""]:
    """The loss summed over all real tokens; divide by `labels.count` for the mean.

    With smoothing, that share of the target's probability is spread over the whole vocabulary
    (Szegedy et al., 2016), so that the model is not driven to certainty.
    """
    return functional.cross_entropy(
        logits.flatten(0, 1).float(),
        labels.ids.masked_fill(~labels.mask, PAD).flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
