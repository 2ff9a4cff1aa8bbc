"""Finding a good translation: greedy and beam search over any model that can step."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.batch import Tokens
from dhyan.decoding.beam import Beam, Frontier, Hypothesis, read
from dhyan.decoding.rules import Rule, never
from dhyan.models.interface import State
from dhyan.special_tokens import BOS, EOS, PAD

__all__ = ["Choice", "Hypothesis", "StepModel", "beam_search", "greedy_search", "grow", "likeliest"]

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
    max_length: int | Int[Tensor, " B"],
    length_penalty: float = 0.0,
    rules: Sequence[Rule] = (),
    choose: Choice = likeliest,
) -> list[Hypothesis]:
    """Say one word after the other, until EOS or a sentence's own limit.

    Sentences that have come to their end leave the batch. However the words are chosen, a score
    is the log-probability the model gives them, by length as in `beam_search`. Where the rules
    leave no word, a sentence stops unfinished; where the model gives no numbers, at −∞.
    """
    limits = _max_lengths(source, max_length)
    said = source.ids.new_full((len(source), int(limits.max()) + 1), PAD)
    said[:, 0] = BOS
    score = torch.zeros(len(source), device=said.device)
    state, alive = model.start(source), torch.arange(len(source), device=said.device)
    for length in range(1, said.shape[1]):
        logits, state = model.step(said[alive, length - 1], state)
        scores = next_logprobs(logits, said[alive, :length], alive, rules)
        best = scores.amax(dim=1)
        word = choose(scores, alive, length).where(best > -torch.inf, PAD)
        said[alive, length] = word
        own = scores.gather(1, word.unsqueeze(1)).squeeze(1)
        score[alive] += own.masked_fill(best.isneginf(), 0.0)
        stops = (word == EOS) | (word == PAD) | (length >= limits[alive])
        going = (~stops).nonzero().flatten()
        if not len(going):
            break
        if len(going) < len(alive):
            alive, state = alive[going], state.select(going)
    lengths = (said[:, 1:] != PAD).sum(dim=1).clamp(min=1)
    by_length = (score / lengths**length_penalty).tolist()
    return [read(row, own) for row, own in zip(said.tolist(), by_length, strict=True)]


def beam_search(
    model: StepModel,
    source: Tokens,
    *,
    beam: int,
    max_length: int | Int[Tensor, " B"],
    length_penalty: float = 0.0,
    rules: Sequence[Rule] = (),
) -> list[list[Hypothesis]]:
    """Keep the `beam` best beginnings of every sentence; return the best whole ones, best first.

    Hypotheses are compared by log-probability / length^length_penalty, EOS counted. A sentence is
    done when it has `beam` finished ones and no beginning scores above the last of them. What
    the limit cut off comes last, unfinished.
    """
    hypotheses = Beam.start(len(source), beam, length_penalty, source.ids.device)
    return grow(hypotheses, model, source, max_length=max_length, rules=rules)


@torch.inference_mode()
def grow(
    beam: Frontier,
    model: StepModel,
    source: Tokens,
    *,
    max_length: int | Int[Tensor, " B"],
    rules: Sequence[Rule] = (),
) -> list[list[Hypothesis]]:
    """Extend the beginnings of every sentence until it is done; tell what each came to.

    Where no beginning can be extended and none has ended, they are told as they are, unfinished.
    """
    limits, found = _max_lengths(source, max_length), dict[int, list[Hypothesis]]()
    rows, width = torch.arange(len(source), device=limits.device), beam.said.shape[1]
    state = model.start(source).select(rows.repeat_interleave(width))
    while len(rows):
        said, before = beam.said, beam
        logits, state = model.step(said[:, :, -1].flatten(), state)
        scores = next_logprobs(logits, said.flatten(0, 1), rows.repeat_interleave(width), rules)
        beam, parents = beam.extend(scores.unflatten(0, (-1, width)))
        done = beam.done() | (limits[rows] <= said.shape[2])
        going = (~done).nonzero().flatten()
        if len(going) < len(rows):
            for place in done.nonzero().flatten().tolist():
                found[int(rows[place])] = beam.ranked(place) or _stuck(before, beam, place)
        state = state.select((going.unsqueeze(1) * width + parents[going]).flatten())
        rows, beam = rows[going], beam.select(going)
    return [found[row] for row in range(len(source))]


def _stuck(before: Frontier, beam: Frontier, place: int) -> list[Hypothesis]:
    """What there was before the rules left no word; nothing, if the model gave no numbers."""
    return before.ranked(place) if beam.score[place].isneginf().all() else []


def next_logprobs(
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


def _max_lengths(source: Tokens, max_length: int | Int[Tensor, " B"]) -> Int[Tensor, " B"]:
    """Each sentence's own."""
    return torch.as_tensor(max_length, device=source.ids.device).expand(len(source))
