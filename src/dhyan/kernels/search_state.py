"""Greedy and beam search state in preallocated tensors, for CUDA graphs."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.special_tokens import BOS, PAD


@dataclass(frozen=True)
class GreedySearchState:
    """N slots of a greedy search.

    `tokens` are read next, `steps` counts the tokens chosen so far, and `active` is 0 where a
    sentence has finished or the slot is free. `ids` begin with BOS.
    """

    tokens: Int[Tensor, " N"]
    steps: Int[Tensor, " N"]
    max_lengths: Int[Tensor, " N"]
    active: Int[Tensor, " N"]
    score: Float[Tensor, " N"]
    ids: Int[Tensor, "N T"]

    @classmethod
    def empty(cls, slots: int, capacity: int, device: torch.device) -> "GreedySearchState":
        """Free slots with room for so many tokens each, BOS counted."""
        tokens, steps, max_lengths, active = _int_zeros(4, slots, device=device)
        score, ids = torch.zeros(slots, device=device), _int_zeros(slots, capacity, device=device)
        return cls(tokens, steps, max_lengths, active, score, ids)

    def assign(self, slots: Int[Tensor, " B"], max_lengths: Int[Tensor, " B"]) -> None:
        """Start new sentences in these slots."""
        self.tokens.index_fill_(0, slots, BOS)
        self.ids.index_fill_(0, slots, PAD)
        self.active.index_fill_(0, slots, 1)
        self.max_lengths.index_copy_(0, slots, max_lengths)
        for counter in (self.steps, self.score):
            counter.index_fill_(0, slots, 0)

    def first(self, slots: int) -> "GreedySearchState":
        """The first few slots, in the same memory."""
        return GreedySearchState(*(tensor[:slots] for tensor in self._tensors()))

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Move sentences to other slots."""
        for tensor in self._tensors():
            tensor[end] = tensor[start]
        self.active[start] = 0

    def _tensors(self) -> tuple[Tensor, ...]:
        return self.tokens, self.steps, self.max_lengths, self.active, self.score, self.ids


@dataclass(frozen=True)
class BeamSearchState:
    """N slots of a beam search, with W unfinished hypotheses and the best W finished ones each.

    `ids` hold the W tokens of every step, and `backpointers` the hypothesis each extended. A
    finished hypothesis is its parent and its length, EOS counted. `cache_rows` say for every row
    and earlier position which of the sentence's rows holds its keys and values; the table of the
    next step is written beside that of this one, so there are two, by the parity of the step.
    `length_divisor` is what a score of so many tokens is divided by.
    """

    tokens: Int[Tensor, "N W"]
    steps: Int[Tensor, " N"]
    max_lengths: Int[Tensor, " N"]
    active: Int[Tensor, " N"]
    score: Float[Tensor, "N W"]
    parents: Int[Tensor, "N W"]
    ids: Int[Tensor, "N T W"]
    backpointers: Int[Tensor, "N T W"]
    finished_score: Float[Tensor, "N W"]
    finished_length: Int[Tensor, "N W"]
    finished_parent: Int[Tensor, "N W"]
    cache_rows: Int[Tensor, "2 N W T"]
    length_divisor: Float[Tensor, " L"]

    @classmethod
    def empty(
        cls, slots: int, width: int, capacity: int, device: torch.device
    ) -> "BeamSearchState":
        """Free slots with room for so many tokens each, and a length penalty of 0."""
        steps, max_lengths, active = _int_zeros(3, slots, device=device)
        tokens, parents, length, parent = _int_zeros(4, slots, width, device=device)
        ids, backpointers = _int_zeros(2, slots, capacity, width, device=device)
        score, finished_score = torch.zeros(2, slots, width, device=device)
        return cls(
            tokens,
            steps,
            max_lengths,
            active,
            score,
            parents,
            ids,
            backpointers,
            finished_score,
            length,
            parent,
            torch.zeros(2, slots, width, capacity, dtype=torch.int8, device=device),
            torch.ones(capacity + 1, device=device),
        )

    def set_length_penalty(self, length_penalty: float) -> None:
        """From now on scores are divided by length ** length_penalty."""
        lengths = torch.arange(len(self.length_divisor), dtype=torch.float64)
        self.length_divisor.copy_(lengths.clamp(min=1) ** length_penalty)

    def assign(self, slots: Int[Tensor, " B"], max_lengths: Int[Tensor, " B"]) -> None:
        """Start new sentences in these slots, each with one empty hypothesis."""
        self.tokens.index_fill_(0, slots, BOS)
        self.active.index_fill_(0, slots, 1)
        self.max_lengths.index_copy_(0, slots, max_lengths)
        for counter in (self.steps, self.parents):
            counter.index_fill_(0, slots, 0)
        for score in (self.score, self.finished_score):
            score.index_fill_(0, slots, -torch.inf)
        self.score[:, 0].index_fill_(0, slots, 0.0)

    def first(self, slots: int) -> "BeamSearchState":
        """The first few slots, in the same memory."""
        few = [tensor[:slots] for tensor in self._tensors()]
        cache_rows, divisor = self.cache_rows[:, :slots], self.length_divisor
        return BeamSearchState(*few, cache_rows, divisor)  # type: ignore[call-arg]

    def move(self, start: Int[Tensor, " B"], end: Int[Tensor, " B"]) -> None:
        """Move sentences to other slots."""
        for tensor in self._tensors():
            tensor[end] = tensor[start]
        self.cache_rows[:, end] = self.cache_rows[:, start]
        self.active[start] = 0

    def _tensors(self) -> tuple[Tensor, ...]:
        return (
            *(self.tokens, self.steps, self.max_lengths, self.active, self.score, self.parents),
            *(self.ids, self.backpointers),
            *(self.finished_score, self.finished_length, self.finished_parent),
        )


def _int_zeros(*shape: int, device: torch.device) -> Tensor:
    return torch.zeros(shape, dtype=torch.int32, device=device)
