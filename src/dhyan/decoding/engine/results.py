"""From the tensors of a search to hypotheses."""

import torch
from jaxtyping import Int
from torch import Tensor

from dhyan.decoding.beam import Hypothesis
from dhyan.kernels.boards import BeamBoard, GreedyBoard
from dhyan.special import EOS, PAD


def greedy_results(
    board: GreedyBoard, slots: Int[Tensor, " B"], power: float
) -> list[list[Hypothesis]]:
    """What the sentences at these places have said."""
    said, score = board.said[slots, 1:].cpu(), board.score[slots].cpu()
    lengths = (said != PAD).sum(dim=1)
    scores = (score / lengths.clamp(min=1) ** power).tolist()
    ends = (said == EOS).any(dim=1).tolist()
    rows = said[:, : int(lengths.max())].tolist()
    return [
        [Hypothesis(tuple(row[: length - finished]), own, finished)]
        for row, length, own, finished in zip(rows, lengths.tolist(), scores, ends, strict=True)
    ]


def beam_results(board: BeamBoard, slots: Int[Tensor, " B"]) -> list[list[Hypothesis]]:
    """The best W of each sentence, those that ended first; what scores −∞ is none."""
    ended, lengths, ended_by, going = (
        part[slots].cpu()
        for part in (
            board.ended_score,
            board.ended_length,
            board.ended_parent,
            board.score,
        )
    )
    places = board.places[slots].cpu()
    by = board.penalty.cpu()[places.long()].unsqueeze(1)
    score = torch.cat([ended, going / by], dim=1)
    own = torch.arange(ended.shape[1]).expand_as(ended)
    said = torch.cat([lengths - 1, places.unsqueeze(1).expand_as(lengths)], dim=1)
    last = torch.cat([ended_by, own], dim=1)
    real = score > -torch.inf
    best = (~real).byte().argsort(dim=1, stable=True)[:, : ended.shape[1]]
    score, said, last = (part.gather(1, best) for part in (score, said, last))
    ids = _told(board, slots, said.clamp(min=0), last)
    counts = real.sum(dim=1).clamp(max=ended.shape[1]).tolist()
    finished = (best < ended.shape[1]).tolist()
    return [
        [Hypothesis(*one) for one in zip(texts[:count], scores, ends, strict=False)]
        for texts, scores, ends, count in zip(ids, score.tolist(), finished, counts, strict=True)
    ]


def _told(
    board: BeamBoard,
    slots: Int[Tensor, " B"],
    said: Int[Tensor, "B W"],
    last: Int[Tensor, "B W"],
) -> list[list[tuple[int, ...]]]:
    """The words of hypotheses so long, each followed back from the beginning it ended in."""
    longest, rows = int(said.max()), torch.arange(len(slots)).unsqueeze(1)
    words, parents = (part[slots, :longest].cpu() for part in (board.said, board.grew_from))
    told, at = words.new_full((*said.shape, longest), PAD), last.long()
    for place in range(longest - 1, -1, -1):
        told[:, :, place] = words[rows, place, at]
        at = parents[rows, place, at].long().where(said > place, at)
    return [
        [tuple(one[:size]) for one, size in zip(own, sizes, strict=True)]
        for own, sizes in zip(told.tolist(), said.tolist(), strict=True)
    ]
