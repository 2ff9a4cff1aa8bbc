"""The location score (Luong, Pham and Manning, 2015): the state alone says where to look."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from dhyan.attention.protocol import Memory


class LocationScore(nn.Module):
    """e_i = W s_i: one row of W for every place, whatever word stands there.

    As in the paper, a shorter sentence uses the first rows, and words of a longer one past the
    last row are not looked at.
    """

    blind = True

    def __init__(self, query_width: int, longest: int) -> None:
        super().__init__()
        self.places = nn.Linear(query_width, longest, bias=False)

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S 0"]:
        """Nothing: no state is matched."""
        return states[..., :0]

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """How much the query wants each place."""
        scores = self.places(query)
        beyond = memory.mask.shape[1] - scores.shape[-1]
        return pad(scores, (0, beyond), value=-torch.inf)
