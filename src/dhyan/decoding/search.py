"""Finding a good translation: greedy and beam search over any model that can step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.decoding.rules import Rule, never
from dhyan.models.interface import State
from dhyan.special import BOS, EOS, PAD

MARKS = never(PAD, BOS)


@runtime_checkable
class StepModel(Protocol):
    """All that search needs of a model."""

    def start(self, source: Tokens) -> State:
        """Read the source."""
        ...

    def step(self, ids: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        """The logits of the next word."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A translation without BOS and EOS, its score, and whether it came to an end by itself."""

    ids: tuple[int, ...]
    score: float
    finished: bool


@torch.inference_mode()
def greedy_search(
    model: StepModel,
    source: Tokens,
    *,
    limit: int | Int[Tensor, " B"],
    length_power: float = 0.0,
    rules: Sequence[Rule] = (),
) -> list[Hypothesis]:
    """Say the likeliest word at every step, until EOS or a sentence's own limit.

    Sentences that have come to their end leave the batch.
    """
    limits, said, score = _blank(source, limit)
    state, alive = model.start(source), torch.arange(len(source), device=said.device)
    for length in range(1, said.shape[1]):
        logits, state = model.step(said[alive, length - 1], state)
        gain, word = next_scores(logits, said[alive, :length], rules).max(dim=-1)
        said[alive, length] = word
        score[alive] += gain
        going = ((word != EOS) & (length < limits[alive])).nonzero().flatten()
        if not len(going):
            break
        if len(going) < len(alive):
            alive, state = alive[going], state.select(going)
    return [
        read(row, total / _penalty(row, length_power))
        for row, total in zip(said.tolist(), score.tolist(), strict=True)
    ]


@torch.inference_mode()
def beam_search(
    model: StepModel,
    source: Tokens,
    *,
    width: int,
    limit: int | Int[Tensor, " B"],
    length_power: float = 0.0,
    rules: Sequence[Rule] = (),
) -> list[list[Hypothesis]]:
    """Keep the `width` best beginnings of every sentence; return the best whole ones, best first.

    Hypotheses are compared by log-probability / length^length_power, EOS counted. A sentence is
    done when it has `width` finished ones and no beginning scores above the last of them. What
    the limit cut off comes last, unfinished.
    """
    limits, said, _ = _blank(source, limit)
    rows = torch.arange(len(source), device=said.device)
    beam = Beam.start(len(source), width, said.shape[1], said.device)
    state = model.start(source).select(rows.repeat_interleave(width))
    found: list[list[Hypothesis]] = [[] for _ in range(len(source))]
    for length in range(1, said.shape[1]):
        logits, state = model.step(beam.said[:, :, length - 1].flatten(), state)
        spoken = beam.said[:, :, :length].flatten(0, 1)
        scores = next_scores(logits, spoken, rules).unflatten(0, (-1, width))
        beam, parents = beam.extend(scores, length, length_power)
        done = beam.done(length, length_power) | (length >= limits[rows])
        for place in done.nonzero().flatten().tolist():
            found[rows[place]] = beam.ranked(place, length, length_power)
        going = (~done).nonzero().flatten()
        if not len(going):
            break
        state = state.select((going.unsqueeze(1) * width + parents[going]).flatten())
        rows, beam = rows[going], beam.select(going)
    return found


@dataclass(frozen=True)
class Beam:
    """For N sentences: W beginnings still going, and the best W that have ended."""

    said: Int[Tensor, "N W T"]
    score: Float[Tensor, "N W"]
    ended: Int[Tensor, "N W T"]
    ended_score: Float[Tensor, "N W"]

    @classmethod
    def start(cls, sentences: int, width: int, room: int, device: torch.device) -> "Beam":
        """One empty beginning each; the other places hold nothing, at −∞."""
        said = torch.full((sentences, width, room), PAD, device=device)
        said[:, :, 0] = BOS
        nothing = torch.full((sentences, width), -torch.inf, device=device)
        score = nothing.clone()
        score[:, 0] = 0.0
        return cls(said, score, said, nothing)

    def extend(
        self, scores: Float[Tensor, "N W V"], length: int, power: float
    ) -> tuple["Beam", Int[Tensor, "N W"]]:
        """One word more: the new beam, and which beginning each of its rows grew from."""
        width, vocabulary = scores.shape[1:]
        total = (self.score.unsqueeze(-1) + scores).flatten(1)
        best, choice = total.topk(min(2 * width, total.shape[1]), dim=1)
        parent, word = choice // vocabulary, choice % vocabulary
        said = take(self.said, parent)
        said[:, :, length] = word
        ends = word == EOS
        early = torch.arange(best.shape[1], device=best.device) < width
        whole = (best / length**power).masked_fill(~(ends & early), -torch.inf)
        ended_score, kept = torch.cat([self.ended_score, whole], dim=1).topk(width, dim=1)
        ended = take(torch.cat([self.ended, said], dim=1), kept)
        score, going = best.masked_fill(ends, -torch.inf).topk(width, dim=1)
        return Beam(take(said, going), score, ended, ended_score), parent.gather(1, going)

    def done(self, length: int, power: float) -> Bool[Tensor, " N"]:
        """Whether nothing that is going beats what has ended."""
        return self.score[:, 0] / length**power <= self.ended_score[:, -1]

    def select(self, rows: Int[Tensor, " R"]) -> "Beam":
        """The beams of other sentences."""
        return Beam(self.said[rows], self.score[rows], self.ended[rows], self.ended_score[rows])

    def ranked(self, place: int, length: int, power: float) -> list[Hypothesis]:
        """One sentence's hypotheses, those that ended first."""
        ended = zip(self.ended[place].tolist(), self.ended_score[place].tolist(), strict=True)
        going = (self.score[place] / length**power).tolist()
        cut = zip(self.said[place].tolist(), going, strict=True)
        all_of_them = [read(row, score) for row, score in [*ended, *cut] if score > -torch.inf]
        return all_of_them[: len(going)]


def next_scores(
    logits: Float[Tensor, "R V"], said: Int[Tensor, "R T"], rules: Sequence[Rule]
) -> Float[Tensor, "R V"]:
    """Log-probabilities of the next word, as the rules leave them."""
    scores = logits.float().log_softmax(dim=-1)
    for rule in (MARKS, *rules):
        scores = rule(said, scores)
    return scores


def take(rows: Int[Tensor, "N W T"], places: Int[Tensor, "N K"]) -> Int[Tensor, "N K T"]:
    """For every sentence, the rows at the given places."""
    return rows.take_along_dim(places.unsqueeze(-1), dim=1)


def read(row: list[int], score: float) -> Hypothesis:
    """The words between BOS and EOS."""
    said = [i for i in row[1:] if i != PAD]
    finished = bool(said) and said[-1] == EOS
    return Hypothesis(tuple(said[:-1] if finished else said), score, finished)


def _blank(
    source: Tokens, limit: int | Int[Tensor, " B"]
) -> tuple[Int[Tensor, " B"], Int[Tensor, "B T"], Float[Tensor, " B"]]:
    """Each sentence's limit, room for the longest with BOS in front, and a score of nothing."""
    limits = torch.as_tensor(limit, device=source.ids.device).expand(len(source))
    said = source.ids.new_full((len(source), int(limits.max()) + 1), PAD)
    said[:, 0] = BOS
    return limits, said, torch.zeros(len(source), device=source.ids.device)


def _penalty(row: list[int], power: float) -> float:
    return sum(i != PAD for i in row[1:]) ** power
