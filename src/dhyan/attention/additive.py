"""Scores by a small network: additive (Bahdanau et al., 2015), and one that looks back."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from dhyan.attention.protocol import Memory
from dhyan.kernels import reference
from dhyan.kernels.backend import triton_runs


class AdditiveScore(nn.Module):
    """e_ij = vᵀ tanh(W s_i + U h_j + b); W, U, b and v are the same at every step.

    Asked by the previous decoder state it is Bahdanau, Cho and Bengio's (2015); asked by the
    current one it is the 'concat' score of Luong, Pham and Manning (2015), since
    W [s; h] = W_s s + W_h h.
    """

    def __init__(self, query_width: int, memory_width: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, hidden)
        self.key = nn.Linear(memory_width, hidden, bias=False)
        self.energy = nn.Parameter(torch.randn(hidden) / hidden**0.5)

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S A"]:
        """U h_j, which no step changes."""
        return self.key(states)

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """How well each state answers each query."""
        return additive_scores(self.query(query), memory.keys, self.energy)

    def fuses(self, query: Float[Tensor, "B H T Q"], memory: Memory, *, dropout: float) -> bool:
        """Whether the kernel can take these; it leaves no weight out."""
        return dropout == 0 and _fits(query, memory.keys)

    def fused(
        self,
        query: Float[Tensor, "B H T Q"],
        memory: Memory,
        seen: Bool[Tensor, "#B #H T S"],
        *,
        dropout: float = 0.0,
    ) -> Float[Tensor, "B H T E"]:
        """The same through a kernel that never holds the sums of all queries and keys."""
        from dhyan.kernels.triton.additive_attention.attention import additive_attention

        return additive_attention(self.query(query), memory.keys, memory.values, self.energy, seen)


class CoverageScore(nn.Module):
    """e_ij = vᵀ tanh(W s_i + U h_j + V f_ij + b), where f_i = F ∗ Σ_{k<i} α_k.

    What a word has been given so far tells whether it is already translated: the coverage of Tu
    et al. (2016). Filters that reach to its neighbours also tell where the last looks were: the
    location-awareness of Chorowski et al. (2015).
    """

    looks_back = True

    def __init__(
        self, query_width: int, memory_width: int, hidden: int, *, filters: int, reach: int
    ) -> None:
        super().__init__()
        self.score = AdditiveScore(query_width, memory_width, hidden)
        self.reach = reach
        self.filters = nn.Linear(2 * reach + 1, filters, bias=False)
        self.past = nn.Linear(filters, hidden, bias=False)

    def keys(self, states: Float[Tensor, "B G S D"]) -> Float[Tensor, "B G S A"]:
        """U h_j; the past comes in at each step."""
        return self.score.keys(states)

    def forward(self, query: Float[Tensor, "B H T Q"], memory: Memory) -> Float[Tensor, "B H T S"]:
        """How well each state answers, given what was looked at before."""
        given = memory.given
        if given is None:
            given = self.filters.weight.new_zeros(*query.shape[:2], memory.mask.shape[1])
        around = pad(given, (self.reach, self.reach)).unfold(-1, 2 * self.reach + 1, 1)
        past, score = self.past(self.filters(around)), self.score
        return additive_scores(score.query(query), memory.keys + past, score.energy)


def additive_scores(
    query: Float[Tensor, "B H T A"], keys: Float[Tensor, "B G S A"], energy: Float[Tensor, " A"]
) -> Float[Tensor, "B H T S"]:
    """energy · tanh(q + k), by the kernel where there is one."""
    if not _fits(query, keys):
        return reference.additive_scores(query, keys, energy)
    from dhyan.kernels.triton.additive_attention import attention as additive

    return additive.additive_scores(query, keys, energy)


def _fits(query: Float[Tensor, "B H T Q"], keys: Float[Tensor, "B G S A"]) -> bool:
    """Whether Triton runs, and there is something to compute, in single precision or less."""
    there = query.numel() > 0 and keys.numel() > 0
    return triton_runs(keys) and there and torch.float64 not in (query.dtype, keys.dtype)
