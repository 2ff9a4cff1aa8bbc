"""A beam in groups that avoid each other's words."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dhyan.decoding.beam import Frontier, Hypothesis


@dataclass(frozen=True)
class Groups:
    """Diverse beam search (Vijayakumar et al., 2018): groups that step one after the other.

    In every step a group pays `diversity` for each time an earlier group goes on with the same
    word; to end is free. The payment decides what the group keeps and is then forgotten. The first
    group pays nothing, so it finds what a beam of its width finds alone.
    """

    members: tuple[Frontier, ...]
    diversity: float

    @property
    def said(self) -> Int[Tensor, "N W T"]:
        """What all have said, group after group."""
        return torch.cat([member.said for member in self.members], dim=1)

    @property
    def score(self) -> Float[Tensor, "N W"]:
        """What all have scored, group after group."""
        return torch.cat([member.score for member in self.members], dim=1)

    def extend(
        self, scores: Float[Tensor, "N W V"], cost: Float[Tensor, "N V"] | None = None
    ) -> tuple["Groups", Int[Tensor, "N W"]]:
        """Each group grows by a word, knowing those of the groups before it."""
        width = scores.shape[1] // len(self.members)
        cost = torch.zeros_like(scores[:, 0]) if cost is None else cost
        grown, parents = [], []
        for place, member in enumerate(self.members):
            own = scores[:, place * width : (place + 1) * width]
            own = own.masked_fill(member.done().view(-1, 1, 1), -torch.inf)
            member, parent = member.extend(own, cost)
            taken = self.diversity * (member.score > -torch.inf).to(cost.dtype)
            cost = cost.scatter_add(1, member.said[:, :, -1], taken)
            grown.append(member)
            parents.append(parent + place * width)
        return Groups(tuple(grown), self.diversity), torch.cat(parents, dim=1)

    def done(self) -> Bool[Tensor, " N"]:
        """Whether every group is."""
        return torch.stack([member.done() for member in self.members]).all(dim=0)

    def select(self, rows: Int[Tensor, " R"]) -> "Groups":
        """The groups of other sentences."""
        return Groups(tuple(member.select(rows) for member in self.members), self.diversity)

    def ranked(self, place: int) -> list[Hypothesis]:
        """What all groups found for one sentence, each once, those that ended first."""
        found = {(h.ids, h.finished): h for member in self.members for h in member.ranked(place)}
        return sorted(found.values(), key=lambda h: (h.finished, h.score), reverse=True)
