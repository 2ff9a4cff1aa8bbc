"""Attention with one head, as the recurrent models first had it, over any score."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dhyan.attention.masks import everything
from dhyan.attention.protocol import Attended, Memory, Score, Sight, answer


class SingleHeadAttention(nn.Module):
    """The states are matched by the score and returned as they are.

    `dropout` leaves out weights in training; without `fuse` the weights are always there.
    """

    def __init__(
        self, score: Score, *, sees: Sight = everything, dropout: float = 0.0, fuse: bool = True
    ) -> None:
        super().__init__()
        self.score = score
        self.sees = sees
        self.dropout = dropout
        self.fuse = fuse

    def remember(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        """Keys are what the score makes of the states; values are the states."""
        values = states.unsqueeze(1)
        return Memory(self.score.keys(values), values, mask)

    def forward(self, query: Float[Tensor, "B T Q"], memory: Memory) -> Attended:
        """One weight per query and state."""
        dropout = self.dropout if self.training else 0.0
        context, weights, memory = answer(
            query.unsqueeze(1), memory, self.score, self.sees, dropout=dropout, fuse=self.fuse
        )
        return Attended(context.squeeze(1), weights, memory)
