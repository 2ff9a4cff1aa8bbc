"""The beginnings a beam search keeps, and how they grow by a word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from dhyan.special_tokens import BOS, EOS, PAD


@dataclass(frozen=True)
class Hypothesis:
    """A translation without BOS and EOS, its score, and whether it came to an end by itself.

    A search scores by log-probability / length^power, EOS counted; `by_coverage` adds to that.
    """

    ids: tuple[int, ...]
    score: float
    finished: bool


@runtime_checkable
class Frontier(Protocol):
    """What a search grows: W beginnings for each of N sentences, BOS first; −∞ scores no one."""

    @property
    def said(self) -> Int[Tensor, "N W T"]: ...  # noqa: D102
    @property
    def score(self) -> Float[Tensor, "N W"]: ...  # noqa: D102

    def extend(
        self, scores: Float[Tensor, "N W V"], cost: Float[Tensor, "N V"] | None = None
    ) -> tuple["Frontier", Int[Tensor, "N W"]]:
        """One word more, and which beginning each new one grew from.

        What a word costs counts in the choice of this step, and never in a score.
        """
        ...

    def done(self) -> Bool[Tensor, " N"]:
        """Whether nothing that is going beats what has ended."""
        ...

    def select(self, rows: Int[Tensor, " R"]) -> "Frontier":
        """The beginnings of other sentences."""
        ...

    def ranked(self, place: int) -> list[Hypothesis]:
        """One sentence's hypotheses, those that ended first."""
        ...


@dataclass(frozen=True)
class Options:
    """Ways to go on, best first: a beginning, a word, and what they score; −∞ is no way at all."""

    score: Float[Tensor, "N K"]
    parent: Int[Tensor, "N K"]
    word: Int[Tensor, "N K"]

    @classmethod
    def best(
        cls, total: Float[Tensor, "N W V"], count: int, cost: Float[Tensor, "N V"] | None
    ) -> "Options":
        """The best `count` of all beginnings and words, after costs; the scores stay without."""
        worth = total if cost is None else total - cost.unsqueeze(1)
        best, choice = worth.flatten(1).topk(count, dim=1)
        score = best if cost is None else total.flatten(1).gather(1, choice)
        return cls(score, choice // total.shape[2], choice % total.shape[2])

    def first(self, count: int) -> "Options":
        """The best few."""
        return Options(self.score[:, :count], self.parent[:, :count], self.word[:, :count])

    def only(self, wanted: Bool[Tensor, "N K"]) -> "Options":
        """The wanted ones in their order; what is left of the places holds nothing."""
        order = (~wanted).byte().argsort(dim=1, stable=True)
        score = self.score.masked_fill(~wanted, -torch.inf).gather(1, order)
        return Options(score, self.parent.gather(1, order), self.word.gather(1, order))

    def after(self, said: Int[Tensor, "N W T"]) -> Int[Tensor, "N K U"]:
        """What was said, with the word at its end."""
        return torch.cat([take(said, self.parent), self.word.unsqueeze(-1)], dim=-1)


@dataclass(frozen=True)
class Beam:
    """For N sentences: W beginnings still going, and the best W that have ended.

    What ended is scored by log-probability / length^power, EOS counted.
    """

    said: Int[Tensor, "N W T"]
    score: Float[Tensor, "N W"]
    ended: Int[Tensor, "N W T"]
    ended_score: Float[Tensor, "N W"]
    power: float

    @classmethod
    def start(cls, sentences: int, width: int, power: float, device: torch.device) -> "Beam":
        """One empty beginning each; the other places hold nothing, at −∞."""
        said = torch.full((sentences, width, 1), BOS, device=device)
        nothing = torch.full((sentences, width), -torch.inf, device=device)
        score = nothing.index_fill(1, torch.zeros(1, dtype=torch.long, device=device), 0.0)
        return cls(said, score, said, nothing, power)

    def extend(
        self, scores: Float[Tensor, "N W V"], cost: Float[Tensor, "N V"] | None = None
    ) -> tuple["Beam", Int[Tensor, "N W"]]:
        """The best that do not end go on; an end counts if it is among the `width` best."""
        width = scores.shape[1]
        options = Options.best(self.score.unsqueeze(-1) + scores, 2 * width, cost)
        going = options.only(options.word != EOS).first(width)
        early = options.first(width)
        return self.grow(going, early.only(early.word == EOS)), going.parent

    def grow(self, going: Options, ending: Options) -> "Beam":
        """The beam after a choice: what goes on, and what ends here."""
        length = self.said.shape[-1]
        whole = torch.cat([self.ended_score, ending.score / length**self.power], dim=1)
        all_ended = torch.cat([pad(self.ended, (0, 1), value=PAD), ending.after(self.said)], dim=1)
        ended_score, kept = whole.topk(self.score.shape[1], dim=1)
        ended = take(all_ended, kept)
        return Beam(going.after(self.said), going.score, ended, ended_score, self.power)

    def done(self) -> Bool[Tensor, " N"]:
        """Whether nothing that is going beats what has ended."""
        return self._by_length().amax(dim=1) <= self.ended_score[:, -1]

    def select(self, rows: Int[Tensor, " R"]) -> "Beam":
        """The beams of other sentences."""
        said, ended = self.said[rows], self.ended[rows]
        return Beam(said, self.score[rows], ended, self.ended_score[rows], self.power)

    def ranked(self, place: int) -> list[Hypothesis]:
        """One sentence's hypotheses, those that ended first."""
        ended = zip(self.ended[place].tolist(), self.ended_score[place].tolist(), strict=True)
        cut = zip(self.said[place].tolist(), self._by_length()[place].tolist(), strict=True)
        found = [read(row, score) for row, score in [*ended, *cut] if score > -torch.inf]
        return found[: self.score.shape[1]]

    def _by_length(self) -> Float[Tensor, "N W"]:
        return self.score / max(self.said.shape[-1] - 1, 1) ** self.power


def take(rows: Int[Tensor, "N W T"], places: Int[Tensor, "N K"]) -> Int[Tensor, "N K T"]:
    """For every sentence, the rows at the given places."""
    return rows.take_along_dim(places.unsqueeze(-1), dim=1)


def read(row: Sequence[int], score: float) -> Hypothesis:
    """The words between BOS and EOS."""
    said = [i for i in row[1:] if i != PAD]
    finished = bool(said) and said[-1] == EOS
    return Hypothesis(tuple(said[:-1] if finished else said), score, finished)
