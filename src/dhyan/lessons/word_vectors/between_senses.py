"""Where a word's vector lies between the words of one of its senses and those of another."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.lessons.catalogue import Text
from dhyan.text.nearest_neighbours import mean_of, vector_of
from dhyan.text.word_vectors import Vectors

CLEAR = 0.1  # a difference between two cosines


@dataclass(frozen=True)
class Between:
    """Where a word's vector lies between two groups of words; cosines are with each group's mean.

    `groups` has the average cosines of each group's own words, each held against the mean of the
    others. A share is 0 for a word that is as far from a group as the other group's words are, and
    1 for one as near as its own; `place` is 0 at the first group's mean and 1 at the second's.
    """

    word: str
    one: tuple[str, ...]
    other: tuple[str, ...]
    cosines: Float64[Tensor, " 2"]
    groups: Float64[Tensor, "2 2"]
    every: Float64[Tensor, " 2"]
    each: tuple[tuple[str, float, float], ...]
    place: float

    @property
    def cross(self) -> Float64[Tensor, " 2"]:
        """How near the other group's words are to each group."""
        return torch.stack((self.groups[1, 0], self.groups[0, 1]))

    @property
    def apart(self) -> bool:
        """Whether these are two groups: its own words are clearly nearer to each than the other's.

        If not, shares are quotients of next to nothing and mean nothing.
        """
        return bool((self.groups.diag() - self.cross > CLEAR).all())

    @property
    def shares(self) -> Float64[Tensor, " 2"]:
        """How much it belongs to each group."""
        return (self.cosines - self.cross) / (self.groups.diag() - self.cross)

    @property
    def torn(self) -> bool:
        """Whether it belongs to both groups and lies in the middle half of the way between them."""
        return self.apart and bool((self.shares > 1 / 3).all()) and 0.25 < self.place < 0.75


def between(vectors: Vectors, word: str, one: Sequence[str], other: Sequence[str]) -> Between:
    """Where a word lies between the words of one of its senses and those of another."""
    means = [torch.from_numpy(mean_of(vectors, group)).double() for group in (one, other)]
    ends = torch.stack(means)
    vector = torch.from_numpy(vector_of(vectors, word)).double()
    points = {word: ends @ vector}
    for row, group in enumerate((one, other)):
        for member in group:
            rest = [each for each in group if each != member]
            beside = ends.clone()
            beside[row] = torch.from_numpy(mean_of(vectors, rest)).double()
            points[member] = beside @ torch.from_numpy(vector_of(vectors, member)).double()
    groups = [torch.stack([points[each] for each in group]).mean(0) for group in (one, other)]
    every = torch.nn.functional.normalize(torch.from_numpy(vectors.table).double(), dim=1)
    way = ends[1] - ends[0]
    return Between(
        word,
        tuple(one),
        tuple(other),
        points[word],
        torch.stack(groups),
        (every @ ends.T).mean(0),
        tuple((each, *at.tolist()) for each, at in points.items()),
        float((vector - ends[0]) @ way / (way @ way)),
    )


def verdict(found: Between, text: Text) -> str:
    """What the cosines say; the place alone says little, for words far from both lie half way."""
    if not found.apart:
        return text("static_vectors.but_words_form_two")
    (near, too), (far, away) = found.cosines.tolist(), found.cross.tolist()
    numbers = text("static_vectors.against_against", near=near, far=far, too=too, away=away)
    if found.torn:
        return text("static_vectors.nearer_group_other_group", numbers=numbers)
    return text("static_vectors.clearly_nearer_group_other", numbers=numbers)
