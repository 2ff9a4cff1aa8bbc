"""Beam search state: hypotheses, their scores, and their extension by one token."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from dhyan.decoding.hypothesis import Hypothesis as Hypothesis
from dhyan.decoding.hypothesis import make_hypothesis as make_hypothesis
from dhyan.kernels.reference import Candidates, best_finished, extend_beam
from dhyan.special_tokens import BOS, EOS, PAD


@runtime_checkable
class BeamState(Protocol):
    """W unfinished hypotheses for each of N sentences, BOS first; −inf marks an empty slot."""

    @property
    def ids(self) -> Int[Tensor, "N W T"]: ...  # noqa: D102
    @property
    def score(self) -> Float[Tensor, "N W"]: ...  # noqa: D102

    def extend(
        self, scores: Float[Tensor, "N W V"], penalty: Float[Tensor, "N V"] | None = None
    ) -> tuple["BeamState", Int[Tensor, "N W"]]:
        """The beam one token longer, and the parent of each hypothesis.

        A token's penalty counts in the choice of this step and never in a score.
        """
        ...

    def done(self) -> Bool[Tensor, " N"]:
        """Whether no unfinished hypothesis can beat the finished ones."""
        ...

    def select(self, rows: Int[Tensor, " R"]) -> "BeamState":
        """The beams of these sentences."""
        ...

    def ranked(self, sentence: int) -> list[Hypothesis]:
        """The hypotheses of one sentence, finished ones first."""
        ...


@dataclass(frozen=True)
class Beam:
    """For N sentences: W unfinished hypotheses, and the best W finished ones.

    Finished hypotheses are scored by log-probability / length ** length_penalty, EOS counted.
    """

    ids: Int[Tensor, "N W T"]
    score: Float[Tensor, "N W"]
    finished: Int[Tensor, "N W T"]
    finished_score: Float[Tensor, "N W"]
    length_penalty: float

    @classmethod
    def start(
        cls, sentences: int, width: int, length_penalty: float, device: torch.device
    ) -> "Beam":
        """One empty hypothesis per sentence; the other slots are empty."""
        ids = torch.full((sentences, width, 1), BOS, device=device)
        empty = torch.full((sentences, width), -torch.inf, device=device)
        score = empty.index_fill(1, torch.zeros(1, dtype=torch.long, device=device), 0.0)
        return cls(ids, score, ids, empty, length_penalty)

    def extend(
        self, scores: Float[Tensor, "N W V"], penalty: Float[Tensor, "N V"] | None = None
    ) -> tuple["Beam", Int[Tensor, "N W"]]:
        """Keep the W best extensions that continue; an EOS must be among the W best of all."""
        continuing, ending = extend_beam(self.score, scores, end=EOS, penalty=penalty)
        return self.updated(continuing, ending), continuing.parent

    def updated(self, continuing: Candidates, ending: Candidates) -> "Beam":
        """The beam with these extensions: those that continue, and those that end in EOS."""
        length = self.ids.shape[-1]
        ending_score = ending.score / length**self.length_penalty
        finished_score, indices = best_finished(self.finished_score, ending_score)
        rows = [pad(self.finished, (0, 1), value=PAD), extended_ids(self.ids, ending)]
        finished = take_rows(torch.cat(rows, dim=1), indices)
        ids = extended_ids(self.ids, continuing)
        return Beam(ids, continuing.score, finished, finished_score, self.length_penalty)

    def done(self) -> Bool[Tensor, " N"]:
        """Whether no unfinished hypothesis scores above the last finished one."""
        return self._score_by_length().amax(dim=1) <= self.finished_score[:, -1]

    def select(self, rows: Int[Tensor, " R"]) -> "Beam":
        """The beams of these sentences."""
        return Beam(
            self.ids[rows],
            self.score[rows],
            self.finished[rows],
            self.finished_score[rows],
            self.length_penalty,
        )

    def ranked(self, sentence: int) -> list[Hypothesis]:
        """The hypotheses of one sentence, finished ones first."""
        score = self._score_by_length()[sentence].tolist()
        finished_score = self.finished_score[sentence].tolist()
        finished = zip(self.finished[sentence].tolist(), finished_score, strict=True)
        unfinished = zip(self.ids[sentence].tolist(), score, strict=True)
        rows = [(row, score) for row, score in [*finished, *unfinished] if score > -torch.inf]
        return [make_hypothesis(row, score) for row, score in rows[: self.score.shape[1]]]

    def _score_by_length(self) -> Float[Tensor, "N W"]:
        return self.score / max(self.ids.shape[-1] - 1, 1) ** self.length_penalty


def take_rows(rows: Int[Tensor, "N W T"], index: Int[Tensor, "N K"]) -> Int[Tensor, "N K T"]:
    """For every sentence, the rows of these indices."""
    return rows.take_along_dim(index.unsqueeze(-1), dim=1)


def extended_ids(ids: Int[Tensor, "N W T"], extensions: Candidates) -> Int[Tensor, "N K U"]:
    """The ids of the parents with the new tokens at their ends."""
    return torch.cat([take_rows(ids, extensions.parent), extensions.token.unsqueeze(-1)], dim=-1)
