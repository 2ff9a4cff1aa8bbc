"""Greedy search and beam search over any model that decodes token by token."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.batch import Source
from dhyan.decoding.beam import Beam, BeamState, Hypothesis, make_hypothesis
from dhyan.decoding.rules import Rule, forbid_tokens
from dhyan.models.interface import State
from dhyan.special_tokens import BOS, EOS, PAD

NO_PADDING = forbid_tokens(PAD, BOS)

TokenChoice = Callable[[Float[Tensor, "R V"], Int[Tensor, " R"], int], Int[Tensor, " R"]]
"""Takes scores, the index of each row's sentence in the batch, and the position of the token;
returns one token a row."""


@runtime_checkable
class StepModel(Protocol):
    """A model that decodes token by token, as search needs it."""

    def start(self, source: Source) -> State:
        """Encode the source."""
        ...

    def step(self, ids: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], State]:
        """The logits of the next token, and the state after this one."""
        ...


def best_token(
    scores: Float[Tensor, "R V"], sentence: Int[Tensor, " R"], position: int
) -> Int[Tensor, " R"]:
    """The token of the highest score."""
    return scores.argmax(dim=-1)


@torch.inference_mode()
def greedy_search(
    model: StepModel,
    source: Source,
    *,
    max_length: int | Int[Tensor, " B"],
    length_penalty: float = 0.0,
    rules: Sequence[Rule] = (),
    choose: TokenChoice = best_token,
) -> list[Hypothesis]:
    """Greedy search: the best token at each step, until EOS or the maximum length.

    Finished sentences leave the batch. However tokens are chosen, the score is the log-probability
    under the model / length ** length_penalty. Where the rules allow no token, a hypothesis stops
    unfinished; where the logits are NaN, its score is not finite.
    """
    max_lengths = _max_lengths(source, max_length)
    shape = (len(source), int(max_lengths.max()) + 1)
    ids = torch.full(shape, PAD, device=source.mask.device)
    ids[:, 0] = BOS
    total = torch.zeros(len(source), device=ids.device)
    state, alive = model.start(source), torch.arange(len(source), device=ids.device)
    for length in range(1, ids.shape[1]):
        logits, state = model.step(ids[alive, length - 1], state)
        scores = next_logprobs(logits, ids[alive, :length], alive, rules)
        best = scores.amax(dim=1)
        token = choose(scores, alive, length).where(best > -torch.inf, PAD)
        ids[alive, length] = token
        logprob = scores.gather(1, token.unsqueeze(1)).squeeze(1)
        total[alive] += logprob.masked_fill(best.isneginf(), 0.0)
        stops = (token == EOS) | (token == PAD) | (length >= max_lengths[alive])
        continuing = (~stops).nonzero().flatten()
        if not len(continuing):
            break
        if len(continuing) < len(alive):
            alive, state = alive[continuing], state.select(continuing)
    lengths = (ids[:, 1:] != PAD).sum(dim=1).clamp(min=1)
    scores_by_length = (total / lengths**length_penalty).tolist()
    rows = zip(ids.tolist(), scores_by_length, strict=True)
    return [make_hypothesis(row, score) for row, score in rows]


def beam_search(
    model: StepModel,
    source: Source,
    *,
    beam: int,
    max_length: int | Int[Tensor, " B"],
    length_penalty: float = 0.0,
    rules: Sequence[Rule] = (),
) -> list[list[Hypothesis]]:
    """Beam search: for each sentence its `beam` best hypotheses, best first.

    Hypotheses are compared by log-probability / length ** length_penalty, EOS counted. A sentence
    is done when it has `beam` finished hypotheses and no unfinished one scores above the last of
    them. Hypotheses cut off at the maximum length come last, unfinished.
    """
    start = Beam.start(len(source), beam, length_penalty, source.mask.device)
    return extend_until_done(start, model, source, max_length=max_length, rules=rules)


@torch.inference_mode()
def extend_until_done(
    beam: BeamState,
    model: StepModel,
    source: Source,
    *,
    max_length: int | Int[Tensor, " B"],
    rules: Sequence[Rule] = (),
) -> list[list[Hypothesis]]:
    """Extend a beam by a token at a time until every sentence is done.

    Where no hypothesis can be extended and none has finished, the unfinished ones are returned.
    """
    max_lengths, results = _max_lengths(source, max_length), dict[int, list[Hypothesis]]()
    rows, width = torch.arange(len(source), device=max_lengths.device), beam.ids.shape[1]
    state = model.start(source).select(rows.repeat_interleave(width))
    while len(rows):
        ids, before = beam.ids, beam
        logits, state = model.step(ids[:, :, -1].flatten(), state)
        scores = next_logprobs(logits, ids.flatten(0, 1), rows.repeat_interleave(width), rules)
        beam, parents = beam.extend(scores.unflatten(0, (-1, width)))
        done = beam.done() | (max_lengths[rows] <= ids.shape[2])
        continuing = (~done).nonzero().flatten()
        if len(continuing) < len(rows):
            for index in done.nonzero().flatten().tolist():
                results[int(rows[index])] = beam.ranked(index) or _unextended(before, beam, index)
        state = state.select((continuing.unsqueeze(1) * width + parents[continuing]).flatten())
        rows, beam = rows[continuing], beam.select(continuing)
    return [results[row] for row in range(len(source))]


def _unextended(before: BeamState, beam: BeamState, index: int) -> list[Hypothesis]:
    """The hypotheses before the rules allowed no token; none, if the logits were NaN."""
    return before.ranked(index) if beam.score[index].isneginf().all() else []


def next_logprobs(
    logits: Float[Tensor, "R V"],
    ids: Int[Tensor, "R T"],
    sentence: Int[Tensor, " R"],
    rules: Sequence[Rule],
) -> Float[Tensor, "R V"]:
    """Log-probabilities of the next token after all rules."""
    scores = logits.float().log_softmax(dim=-1)
    for rule in (NO_PADDING, *rules):
        scores = rule(ids, scores, sentence)
    return scores


def _max_lengths(source: Source, max_length: int | Int[Tensor, " B"]) -> Int[Tensor, " B"]:
    """One maximum length per sentence."""
    return torch.as_tensor(max_length, device=source.mask.device).expand(len(source))
