"""Additive attention scores (Bahdanau et al., 2015), also with coverage or location-aware."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from dhyan.attention.protocol import HeadsAttended, Mask, Memory, Score
from dhyan.kernels.ops import AttentionOperands, additive_attention, additive_scores, attend


class AdditiveScore(nn.Module, Score):
    """e_ij = vᵀ tanh(W s_i + U h_j + b); W, U, b and v are the same at every step.

    `query` holds W and b, `key` holds U, and `energy` is the vector v that gives the energy e_ij.
    With the previous decoder state as query it is the score of Bahdanau, Cho and Bengio (2015);
    with the current one, the 'concat' score of Luong, Pham and Manning (2015), since
    W [s; h] = W_s s + W_h h.
    """

    def __init__(self, query_width: int, memory_width: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, hidden)
        self.key = nn.Linear(memory_width, hidden, bias=False)
        self.energy = nn.Parameter(torch.randn(hidden) / hidden**0.5)

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S A"]:
        """U h_j, the same at every step."""
        return self.key(states)

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """The score of every query with every state."""
        return additive_scores(self.query(query), memory.keys, self.energy)

    def attend(
        self,
        query: Float[Tensor, "B H T Q"],
        memory: Memory,
        mask: Mask,
        *,
        dropout: float = 0.0,
        need_weights: bool = False,
    ) -> HeadsAttended:
        """By the kernel of additive attention, which never stores tanh(q + k) of all pairs."""
        context, weights = additive_attention(
            self.query(query),
            memory.keys,
            memory.values,
            self.energy,
            mask(query, memory),
            dropout=dropout,
            need_weights=need_weights,
        )
        return HeadsAttended(context, weights, memory.advance(query.shape[2]))

    def operands(self, memory: Memory) -> AttentionOperands:
        """Those of an additive score: the vector v, and the projection of the query."""
        weight, bias = self.query.weight, self.query.bias
        return AttentionOperands(
            memory.keys, memory.values, memory.mask, weight, bias, energy=self.energy
        )


class CoverageScore(nn.Module, Score):
    """e_ij = vᵀ tanh(W s_i + U h_j + V f_ij + b), where f_i = F ∗ Σ_{k<i} α_k.

    The attention a word received so far tells whether it is already translated: the coverage of Tu
    et al. (2016), here without their fertility. With `last_weights` it is location-aware: the
    filters F convolve the weights of the last step too (Chorowski et al., 2015), f_i = F ∗ [α_{i-1};
    Σ_{k<i} α_k], the location-sensitive attention of Shen et al. (2018, Tacotron 2); so a decoder
    that reads or speaks from left to right knows where it was. The convolution is written as a
    linear layer over windows of 2 · radius + 1 positions.
    """

    def __init__(
        self,
        query_width: int,
        memory_width: int,
        hidden: int,
        *,
        filters: int,
        radius: int,
        last_weights: bool = False,
    ) -> None:
        super().__init__()
        self.score = AdditiveScore(query_width, memory_width, hidden)
        self.radius = radius
        self.last_weights = last_weights
        self.filters = nn.Linear((1 + last_weights) * (2 * radius + 1), filters, bias=False)
        self.coverage = nn.Linear(filters, hidden, bias=False)

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S A"]:
        """U h_j; the coverage is added at each step."""
        return self.score.keys(states)

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """The score of every query with every state, given the weights before it."""
        rows = [memory.last_weights, memory.coverage] if self.last_weights else [memory.coverage]
        none_yet = self.filters.weight.new_zeros(*query.shape[:2], memory.mask.shape[1])
        windows = [self._windows(none_yet if row is None else row) for row in rows]
        keys = memory.keys + self.coverage(self.filters(torch.cat(windows, dim=-1)))
        return additive_scores(self.score.query(query), keys, self.score.energy)

    def _windows(self, weights: Float[Tensor, "B H S"]) -> Float[Tensor, "B H S W"]:
        """The weights around every position."""
        return pad(weights, (self.radius, self.radius)).unfold(-1, 2 * self.radius + 1, 1)

    def attend(
        self,
        query: Float[Tensor, "B H T Q"],
        memory: Memory,
        mask: Mask,
        *,
        dropout: float = 0.0,
        need_weights: bool = False,
    ) -> HeadsAttended:
        """One query after the other, each with the weights of those before it."""
        unmasked, contexts, rows = mask(query, memory), [], []
        for step, allowed in zip(query.split(1, dim=2), unmasked.split(1, dim=2), strict=True):
            heads = memory.per_head(query.shape[1])
            scores = self(step, heads)
            context, weights = attend(scores, heads.values, allowed, dropout=dropout)
            memory = memory.advance(1, weights)
            contexts.append(context)
            rows.append(weights)
        return HeadsAttended(torch.cat(contexts, dim=2), torch.cat(rows, dim=2), memory)
