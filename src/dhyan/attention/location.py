"""The location score (Luong, Pham and Manning, 2015): positions are scored from the query alone."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from dhyan.attention.protocol import Memory, Score


class LocationScore(nn.Module, Score):
    """e_i = W s_i (equation 8): one row of W for every position, whatever word stands there.

    As in the paper, a shorter sentence uses the first rows, and the words of a longer one past the
    last row get no attention.
    """

    uses_keys: bool = False

    def __init__(self, query_width: int, max_length: int) -> None:
        super().__init__()
        self.positions = nn.Linear(query_width, max_length, bias=False)

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S 0"]:
        """Empty: no state is matched."""
        return states[..., :0]

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """The score of every query with every position."""
        scores = self.positions(query)
        missing = memory.mask.shape[1] - scores.shape[-1]
        return pad(scores, (0, missing), value=-torch.inf)
