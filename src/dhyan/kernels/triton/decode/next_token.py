"""The choice of the next words, greedily or of beams: its definition, or the kernels for it."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.backend import use_triton
from dhyan.kernels.triton.decode.search_state import BeamBoard, GreedyBoard
from dhyan.special_tokens import BOS, EOS, PAD


def choose_greedily(board: GreedyBoard, logits: Float[Tensor, "N V"]) -> None:
    """The likeliest word joins what each live sentence has said; some come to their end.

    Where a row has no numbers, its sentence ends at −∞.
    """
    if use_triton(logits):
        from dhyan.kernels.triton.decode import greedy as words

        words.choose_greedily(board, logits)
        return
    best, word = _log_chances(logits).max(dim=1)
    live, rows = board.live > 0, torch.arange(len(logits), device=logits.device)
    word = word.where(best > -torch.inf, PAD).int()
    board.score.add_(best.masked_fill(~live, 0.0))
    at = (board.places + live).long()
    board.said[rows, at] = word.where(live, board.said[rows, at])
    board.words.copy_(word.where(live, board.words))
    stops = (word == EOS) | (word == PAD) | (at >= board.limits)
    board.places.copy_(at)
    board.live.mul_(~stops)


def choose_beams(board: BeamBoard, logits: Float[Tensor, "R V"]) -> None:
    """Every live sentence's beginnings grow by a word; some end, and some sentences are done.

    The best that do not end go on; an end counts if it is among the W best. A sentence is done when
    nothing that is going beats the last of W ends, or at its limit.
    """
    if use_triton(logits):
        from dhyan.kernels.triton.decode import beam as beams

        beams.choose_beams(board, logits)
        return
    _grow(board, _log_chances(logits).unflatten(0, board.score.shape))


def followed_back(
    board: BeamBoard,
    slots: Int[Tensor, " B"],
    lengths: Int[Tensor, "B C"],
    last: Int[Tensor, "B C"],
    longest: int,
) -> Int[Tensor, "B C L"]:
    """The words of C hypotheses of each sentence, so many, from the beginnings they ended in."""
    told = board.said.new_full((*lengths.shape, longest), PAD)
    lengths, last = torch.stack([lengths, last]).to(told.device)
    if use_triton(board.score):
        from dhyan.kernels.triton.decode import backtrace as paths

        paths.followed_back(board.said, board.grew_from, slots, lengths, last, told)
        return told
    words, parents = board.said[slots, :longest], board.grew_from[slots, :longest].long()
    at = last.long()
    for place in range(longest - 1, -1, -1):
        within = lengths > place
        told[:, :, place] = words[:, place].gather(1, at).where(within, told[:, :, place])
        at = parents[:, place].gather(1, at).where(within, at)
    return told


def _log_chances(logits: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
    """Log-probabilities of the words that may be said; −∞ in rows without numbers."""
    scores = logits.float().log_softmax(dim=-1)
    scores[:, [PAD, BOS]] = -torch.inf
    return scores.masked_fill(scores.isnan(), -torch.inf)


def _grow(board: BeamBoard, chances: Float[Tensor, "N W V"]) -> None:
    width = board.score.shape[1]
    live, place = board.live > 0, board.places.long()
    total = (board.score.unsqueeze(2) + chances).flatten(1)
    option, choice = total.topk(min(2 * width, total.shape[1]), dim=1)
    parent, word = choice // chances.shape[2], choice % chances.shape[2]
    by = board.penalty[place + 1].unsqueeze(1)
    ends = word == EOS
    ends[:, width:] = False
    ending = (option / by).masked_fill(~ends, -torch.inf)
    order = (word == EOS).byte().argsort(dim=1, stable=True)[:, :width]
    option = option.masked_fill(word == EOS, -torch.inf).gather(1, order)
    from_, word = parent.gather(1, order), word.gather(1, order)
    ended, kept = torch.cat([board.ended_score, ending], dim=1).topk(width, dim=1)
    lengths = torch.cat([board.ended_length, (place + 1).unsqueeze(1).expand_as(ending)], dim=1)
    parents = torch.cat([board.ended_parent, parent], dim=1)
    rows = torch.arange(len(live), device=live.device)
    now, after = board.origins[place % 2, rows], board.origins[(place + 1) % 2, rows]
    grown = now.take_along_dim(from_.unsqueeze(2), dim=1)
    grown[rows, :, place] = from_.to(grown.dtype)
    board.origins[(place + 1) % 2, rows] = grown.where(live[:, None, None], after)
    for table, new in ((board.said, word), (board.grew_from, from_)):
        table[rows, place] = new.int().where(live.unsqueeze(1), table[rows, place])
    done = ((option / by).amax(dim=1) <= ended[:, -1]) | (place + 1 >= board.limits)
    for held, new in (
        (board.score, option),
        (board.words, word),
        (board.parents, from_),
        (board.ended_score, ended),
        (board.ended_length, lengths.gather(1, kept)),
        (board.ended_parent, parents.gather(1, kept)),
    ):
        held.copy_(new.to(held.dtype).where(live.unsqueeze(1), held))
    board.places.add_(live)
    board.live.mul_(~done)
