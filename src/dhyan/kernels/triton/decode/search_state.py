"""Where a search stands, as tensors that never move: what a captured step reads and writes."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.special_tokens import BOS, PAD


@dataclass(frozen=True)
class GreedyBoard:
    """N sentences that say one word after the other.

    `words` are those to be read next and `places` how many have been said, up to each sentence's
    limit; `live` is 0 where a sentence has ended or no sentence stands. `said` begins with BOS.
    """

    words: Int[Tensor, " N"]
    places: Int[Tensor, " N"]
    limits: Int[Tensor, " N"]
    live: Int[Tensor, " N"]
    score: Float[Tensor, " N"]
    said: Int[Tensor, "N T"]

    @classmethod
    def empty(cls, sentences: int, room: int, device: torch.device) -> "GreedyBoard":
        """No sentences, and room for so many tokens each, BOS counted."""
        words, places, limits, live = _numbers(4, sentences, device=device)
        score = torch.zeros(sentences, device=device)
        return cls(words, places, limits, live, score, _numbers(sentences, room, device=device))

    def seat(self, slots: Int[Tensor, " B"], limits: Int[Tensor, " B"]) -> None:
        """New sentences take these places, with nothing said."""
        self.words.index_fill_(0, slots, BOS)
        self.said.index_fill_(0, slots, PAD)
        self.live.index_fill_(0, slots, 1)
        self.limits.index_copy_(0, slots, limits)
        for counted in (self.places, self.score):
            counted.index_fill_(0, slots, 0)

    def first(self, sentences: int) -> "GreedyBoard":
        """The first few sentences of it, in the same memory."""
        return GreedyBoard(*(part[:sentences] for part in self._parts()))

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Sentences change their places."""
        for part in self._parts():
            part[end] = part[start]
        self.live[start] = 0

    def _parts(self) -> tuple[Tensor, ...]:
        return self.words, self.places, self.limits, self.live, self.score, self.said


@dataclass(frozen=True)
class BeamBoard:
    """N sentences with W beginnings each, and the best W that have ended.

    What was said is kept as it grew: at each place the W words, and which beginning each grew from.
    An end is the beginning it came from and its length, EOS counted. `origins` tells for every row
    and earlier place which of its sentence's rows was fed the word there; the table of the next
    step is written beside that of this one, so there are two, by the parity of the place.
    `penalty` is what a score of so many words is divided by.
    """

    words: Int[Tensor, "N W"]
    places: Int[Tensor, " N"]
    limits: Int[Tensor, " N"]
    live: Int[Tensor, " N"]
    score: Float[Tensor, "N W"]
    parents: Int[Tensor, "N W"]
    said: Int[Tensor, "N T W"]
    grew_from: Int[Tensor, "N T W"]
    ended_score: Float[Tensor, "N W"]
    ended_length: Int[Tensor, "N W"]
    ended_parent: Int[Tensor, "N W"]
    origins: Int[Tensor, "2 N W T"]
    penalty: Float[Tensor, " L"]

    @classmethod
    def empty(cls, sentences: int, width: int, room: int, device: torch.device) -> "BeamBoard":
        """No sentences, and room for so many tokens each; scores go by log-probability alone."""
        places, limits, live = _numbers(3, sentences, device=device)
        words, parents, ended_length, ended_parent = _numbers(4, sentences, width, device=device)
        said, grew_from = _numbers(2, sentences, room, width, device=device)
        score, ended_score = torch.zeros(2, sentences, width, device=device)
        return cls(
            words,
            places,
            limits,
            live,
            score,
            parents,
            said,
            grew_from,
            ended_score,
            ended_length,
            ended_parent,
            torch.zeros(2, sentences, width, room, dtype=torch.int8, device=device),
            torch.ones(room + 1, device=device),
        )

    def by_length(self, power: float) -> None:
        """From now on scores are divided by length^power."""
        lengths = torch.arange(len(self.penalty), dtype=torch.float64)
        self.penalty.copy_(lengths.clamp(min=1) ** power)

    def seat(self, slots: Int[Tensor, " B"], limits: Int[Tensor, " B"]) -> None:
        """New sentences take these places, each with one empty beginning."""
        self.words.index_fill_(0, slots, BOS)
        self.live.index_fill_(0, slots, 1)
        self.limits.index_copy_(0, slots, limits)
        for counted in (self.places, self.parents):
            counted.index_fill_(0, slots, 0)
        for scores in (self.score, self.ended_score):
            scores.index_fill_(0, slots, -torch.inf)
        self.score[:, 0].index_fill_(0, slots, 0.0)

    def first(self, sentences: int) -> "BeamBoard":
        """The first few sentences of it, in the same memory."""
        few = [part[:sentences] for part in self._parts()]
        return BeamBoard(*few, self.origins[:, :sentences], self.penalty)  # type: ignore[call-arg]

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Sentences change their places."""
        for part in self._parts():
            part[end] = part[start]
        self.origins[:, end] = self.origins[:, start]
        self.live[start] = 0

    def _parts(self) -> tuple[Tensor, ...]:
        return (
            *(self.words, self.places, self.limits, self.live, self.score, self.parents),
            *(self.said, self.grew_from),
            *(self.ended_score, self.ended_length, self.ended_parent),
        )


def _numbers(*shape: int, device: torch.device) -> Tensor:
    return torch.zeros(shape, dtype=torch.int32, device=device)
