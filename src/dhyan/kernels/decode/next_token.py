"""One in-place step of greedy or beam search: PyTorch reference, or Triton kernels."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.backend import use_triton
from dhyan.kernels.reference import best_finished, extend_beam
from dhyan.kernels.search_state import BeamSearchState, GreedySearchState
from dhyan.special_tokens import BOS, EOS, PAD


def greedy_step(search: GreedySearchState, logits: Float[Tensor, "N V"]) -> None:
    """Append the best token to every active hypothesis; some finish.

    Where the logits of a row are NaN, its sentence ends with a score of −inf.
    """
    if use_triton(logits):
        from dhyan.kernels.triton.decode import greedy

        greedy.greedy_step(search, logits)
        return
    best, token = _logprobs(logits).max(dim=1)
    active, rows = search.active > 0, torch.arange(len(logits), device=logits.device)
    token = token.where(best > -torch.inf, PAD).int()
    search.score.add_(best.masked_fill(~active, 0.0))
    step = (search.steps + active).long()
    search.ids[rows, step] = token.where(active, search.ids[rows, step])
    search.tokens.copy_(token.where(active, search.tokens))
    stops = (token == EOS) | (token == PAD) | (step >= search.max_lengths)
    search.steps.copy_(step)
    search.active.mul_(~stops)


def beam_step(search: BeamSearchState, logits: Float[Tensor, "R V"]) -> None:
    """Extend the hypotheses of every active sentence by a token; some finish, some are done.

    A sentence is done when no unfinished hypothesis scores above the last of W finished ones, or
    at its maximum length.
    """
    if use_triton(logits):
        from dhyan.kernels.triton.decode import beam

        beam.beam_step(search, logits)
        return
    active, step = search.active > 0, search.steps.long()
    logprobs = _logprobs(logits).unflatten(0, search.score.shape)
    going, ending = extend_beam(search.score, logprobs, end=EOS)
    divisor = search.length_divisor[step + 1].unsqueeze(1)
    finished_score, best = best_finished(search.finished_score, ending.score / divisor)
    length = (step + 1).unsqueeze(1).expand_as(ending.parent)
    finished_length = torch.cat([search.finished_length, length], dim=1).gather(1, best)
    finished_parent = torch.cat([search.finished_parent, ending.parent], dim=1).gather(1, best)
    done = (going.score / divisor).amax(dim=1) <= finished_score[:, -1]
    done |= step + 1 >= search.max_lengths
    _record(search, going.token, going.parent, active, step)
    for tensor, new in (
        (search.score, going.score),
        (search.tokens, going.token),
        (search.parents, going.parent),
        (search.finished_score, finished_score),
        (search.finished_length, finished_length),
        (search.finished_parent, finished_parent),
    ):
        tensor.copy_(new.to(tensor.dtype).where(active.unsqueeze(1), tensor))
    search.steps.add_(active)
    search.active.mul_(~done)


def _record(
    search: BeamSearchState,
    token: Int[Tensor, "N W"],
    parent: Int[Tensor, "N W"],
    active: Tensor,
    step: Int[Tensor, " N"],
) -> None:
    """Write the tokens and backpointers of a step, and the cache rows of the next."""
    rows = torch.arange(len(active), device=active.device)
    now, after = search.cache_rows[step % 2, rows], search.cache_rows[(step + 1) % 2, rows]
    extended = now.take_along_dim(parent.unsqueeze(2), dim=1)
    extended[rows, :, step] = parent.to(extended.dtype)
    search.cache_rows[(step + 1) % 2, rows] = extended.where(active[:, None, None], after)
    for table, new in ((search.ids, token), (search.backpointers, parent)):
        table[rows, step] = new.int().where(active.unsqueeze(1), table[rows, step])


def backtrace(
    search: BeamSearchState,
    slots: Int[Tensor, " B"],
    lengths: Int[Tensor, "B C"],
    last: Int[Tensor, "B C"],
    max_length: int,
) -> Int[Tensor, "B C L"]:
    """The token ids of C hypotheses per sentence, followed back from their last parents."""
    output = search.ids.new_full((*lengths.shape, max_length), PAD)
    lengths, last = torch.stack([lengths, last]).to(output.device)
    if use_triton(search.score):
        from dhyan.kernels.triton.decode import beam

        beam.backtrace(search.ids, search.backpointers, slots, lengths, last, output)
        return output
    ids = search.ids[slots, :max_length]
    parents = search.backpointers[slots, :max_length].long()
    at = last.long()
    for step in range(max_length - 1, -1, -1):
        inside = lengths > step
        output[:, :, step] = ids[:, step].gather(1, at).where(inside, output[:, :, step])
        at = parents[:, step].gather(1, at).where(inside, at)
    return output


def _logprobs(logits: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
    """Log-probabilities of the tokens a search may choose; −inf in rows with NaN."""
    logprobs = logits.float().log_softmax(dim=-1)
    logprobs[:, [PAD, BOS]] = -torch.inf
    return logprobs.masked_fill(logprobs.isnan(), -torch.inf)
