"""Finding a good translation: greedy and beam search over any model that can step."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.decoding.beam import Beam, Frontier, Hypothesis, read
from dhyan.decoding.diverse import Groups
from dhyan.decoding.rules import Rule, never
from dhyan.decoding.terms import TermBeam
from dhyan.models.interface import State
from dhyan.special import BOS, EOS, PAD

__all__ = ["Choice", "Hypothesis", "StepModel", "beam_search", "greedy_search", "likeliest"]

MARKS = never(PAD, BOS)

Choice = Callable[[Float[Tensor, "R V"], Int[Tensor, " R"], int], Int[Tensor, " R"]]
"""Given scores, which sentence of the batch each row is, and the place of the word: the words."""


@runtime_checkable
class StepModel(Protocol):
    """All that search needs of a model."""

    def start(self, source: Tokens) -> State:
        """Read the source."""
        ...

    def step(self, ids: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        """The logits of the next word."""
        ...


def likeliest(
    scores: Float[Tensor, "R V"], sentence: Int[Tensor, " R"], length: int
) -> Int[Tensor, " R"]:
    """The words of the highest score."""
    return scores.argmax(dim=-1)


@torch.inference_mode()
def greedy_search(
    model: StepModel,
    source: Tokens,
    *,
    limit: int | Int[Tensor, " B"],
    length_power: float = 0.0,
    rules: Sequence[Rule] = (),
    choose: Choice = likeliest,
) -> list[Hypothesis]:
    """Say one word after the other, until EOS or a sentence's own limit.

    Sentences that have come to their end leave the batch. However the words are chosen, a score
    is the log-probability the model gives them, by length as in `beam_search`.
    """
    limits = _limits(source, limit)
    said = source.ids.new_full((len(source), int(limits.max()) + 1), PAD)
    said[:, 0] = BOS
    score = torch.zeros(len(source), device=said.device)
    state, alive = model.start(source), torch.arange(len(source), device=said.device)
    for length in range(1, said.shape[1]):
        logits, state = model.step(said[alive, length - 1], state)
        scores = next_scores(logits, said[alive, :length], alive, rules)
        word = choose(scores, alive, length)
        said[alive, length] = word
        score[alive] += scores.gather(1, word.unsqueeze(1)).squeeze(1)
        going = ((word != EOS) & (length < limits[alive])).nonzero().flatten()
        if not len(going):
            break
        if len(going) < len(alive):
            alive, state = alive[going], state.select(going)
    lengths = (said[:, 1:] != PAD).sum(dim=1)
    by_length = (score / lengths**length_power).tolist()
    return [read(row, own) for row, own in zip(said.tolist(), by_length, strict=True)]


@torch.inference_mode()
def beam_search(
    model: StepModel,
    source: Tokens,
    *,
    width: int,
    limit: int | Int[Tensor, " B"],
    length_power: float = 0.0,
    rules: Sequence[Rule] = (),
    groups: int = 1,
    diversity: float = 0.0,
    required: Sequence[Sequence[Sequence[int]]] | None = None,
) -> list[list[Hypothesis]]:
    """Keep the `width` best beginnings of every sentence; return the best whole ones, best first.

    Hypotheses are compared by log-probability / length^length_power, EOS counted. A sentence is
    done when it has `width` finished ones and no beginning scores above the last of them. What
    the limit cut off comes last, unfinished. With `groups`, the beam is parted as `Groups` says.
    `required` holds each sentence's phrases: nothing that finishes lacks one of them.
    """
    if groups < 1 or width % groups:
        raise ValueError(f"a beam of {width} does not divide into {groups} groups")
    phrases = [()] * len(source) if required is None else required
    if len(phrases) != len(source):
        raise ValueError(f"phrases for {len(phrases)} sentences, but there are {len(source)}")
    limits, found = _limits(source, limit), dict[int, list[Hypothesis]]()
    bound = [row for row, own in enumerate(phrases) if any(own)]
    free = [row for row, own in enumerate(phrases) if not any(own)]
    for rows in filter(None, (free, bound)):
        one = Beam.start(len(rows), width // groups, length_power, limits.device)
        beam = TermBeam.start(one, [phrases[row] for row in rows]) if rows is bound else one
        several = Groups((beam,) * groups, diversity) if groups > 1 else beam
        which = torch.tensor(rows, device=limits.device)
        found.update(_grow(several, model, source, rows=which, limits=limits, rules=rules))
    return [found[row] for row in range(len(source))]


def _grow(
    beam: Frontier,
    model: StepModel,
    source: Tokens,
    *,
    rows: Int[Tensor, " N"],
    limits: Int[Tensor, " B"],
    rules: Sequence[Rule],
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Extend the beginnings of these sentences until each is done; tell what it came to."""
    width = beam.said.shape[1]
    places = torch.arange(len(rows), device=rows.device)
    state = model.start(source.select(rows)).select(places.repeat_interleave(width))
    while len(rows):
        said = beam.said
        logits, state = model.step(said[:, :, -1].flatten(), state)
        scores = next_scores(logits, said.flatten(0, 1), rows.repeat_interleave(width), rules)
        beam, parents = beam.extend(scores.unflatten(0, (-1, width)))
        done = beam.done() | (limits[rows] <= said.shape[2])
        going = (~done).nonzero().flatten()
        if len(going) < len(rows):
            for place in done.nonzero().flatten().tolist():
                yield int(rows[place]), beam.ranked(place)
        state = state.select((going.unsqueeze(1) * width + parents[going]).flatten())
        rows, beam = rows[going], beam.select(going)


def next_scores(
    logits: Float[Tensor, "R V"],
    said: Int[Tensor, "R T"],
    sentence: Int[Tensor, " R"],
    rules: Sequence[Rule],
) -> Float[Tensor, "R V"]:
    """Log-probabilities of the next word, as the rules leave them."""
    scores = logits.float().log_softmax(dim=-1)
    for rule in (MARKS, *rules):
        scores = rule(said, scores, sentence)
    return scores


def _limits(source: Tokens, limit: int | Int[Tensor, " B"]) -> Int[Tensor, " B"]:
    """Each sentence's own."""
    return torch.as_tensor(limit, device=source.ids.device).expand(len(source))
