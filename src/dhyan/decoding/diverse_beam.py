"""Diverse beam search: groups of a beam that avoid each other's tokens."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dhyan.decoding.beam import BeamState, Hypothesis


@dataclass(frozen=True)
class DiverseBeam:
    """Diverse beam search (Vijayakumar et al., 2018): groups that step one after the other.

    In every step a group pays `diversity_penalty` for each time an earlier group extended a
    hypothesis by the same token; EOS is free. The penalty decides what the group keeps and enters
    no score. The first group pays nothing, so it finds what a beam of its width finds alone.
    """

    groups: tuple[BeamState, ...]
    diversity_penalty: float

    @property
    def ids(self) -> Int[Tensor, "N W T"]:
        """The hypotheses, group after group."""
        return torch.cat([group.ids for group in self.groups], dim=1)

    @property
    def score(self) -> Float[Tensor, "N W"]:
        """The scores of the hypotheses, group after group."""
        return torch.cat([group.score for group in self.groups], dim=1)

    def extend(
        self, scores: Float[Tensor, "N W V"], penalty: Float[Tensor, "N V"] | None = None
    ) -> tuple["DiverseBeam", Int[Tensor, "N W"]]:
        """Extend the groups in turn, each penalised by the tokens of those before it."""
        width = scores.shape[1] // len(self.groups)
        penalty = torch.zeros_like(scores[:, 0]) if penalty is None else penalty
        groups, parents = [], []
        for index, group in enumerate(self.groups):
            group_scores = scores[:, index * width : (index + 1) * width]
            group_scores = group_scores.masked_fill(group.done().view(-1, 1, 1), -torch.inf)
            group, parent = group.extend(group_scores, penalty)
            paid = self.diversity_penalty * (group.score > -torch.inf).to(penalty.dtype)
            penalty = penalty.scatter_add(1, group.ids[:, :, -1], paid)
            groups.append(group)
            parents.append(parent + index * width)
        return DiverseBeam(tuple(groups), self.diversity_penalty), torch.cat(parents, dim=1)

    def done(self) -> Bool[Tensor, " N"]:
        """Whether every group is done."""
        return torch.stack([group.done() for group in self.groups]).all(dim=0)

    def select(self, rows: Int[Tensor, " R"]) -> "DiverseBeam":
        """The groups of these sentences."""
        groups = tuple(group.select(rows) for group in self.groups)
        return DiverseBeam(groups, self.diversity_penalty)

    def ranked(self, sentence: int) -> list[Hypothesis]:
        """The hypotheses of all groups for one sentence, each once, finished ones first."""
        hypotheses = {
            (hypothesis.ids, hypothesis.finished): hypothesis
            for group in self.groups
            for hypothesis in group.ranked(sentence)
        }
        return sorted(hypotheses.values(), key=lambda h: (h.finished, h.score), reverse=True)
