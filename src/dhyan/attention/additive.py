"""The additive score (Bahdanau, Cho and Bengio, 2015): a small network judges each pair."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dhyan.kernels.reference import additive_scores


class AdditiveScore(nn.Module):
    """e_ij = vᵀ tanh(W s_i + U h_j + b); W, U, b and v are the same at every step.

    Asked by the previous decoder state it is Bahdanau's; asked by the current one it is the
    'concat' score of Luong, Pham and Manning (2015), since W [s; h] = W_s s + W_h h.
    """

    def __init__(self, query_width: int, memory_width: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, hidden)
        self.key = nn.Linear(memory_width, hidden, bias=False)
        self.energy = nn.Parameter(torch.randn(hidden) / hidden**0.5)

    def keys(self, states: Float[Tensor, "B H S D"]) -> Float[Tensor, "B H S A"]:
        """U h_j, which no step changes."""
        return self.key(states)

    def forward(
        self, query: Float[Tensor, "B H T Q"], keys: Float[Tensor, "B H S A"]
    ) -> Float[Tensor, "B H T S"]:
        """How well each state answers each query."""
        return additive_scores(self.query(query), keys, self.energy)
