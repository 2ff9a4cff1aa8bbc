"""From the tensors of a search to hypotheses; on the host, where numpy is quick with little."""

import numpy
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from dhyan.decoding.beam import Hypothesis
from dhyan.kernels.boards import BeamBoard, GreedyBoard
from dhyan.special import EOS, PAD

Numbers = NDArray[numpy.int32]


def greedy_results(
    board: GreedyBoard, slots: Int[Tensor, " B"], power: float
) -> list[list[Hypothesis]]:
    """What the sentences at these places have said."""
    said, score = board.said[slots, 1:].cpu().numpy(), board.score[slots].cpu().numpy()
    lengths = (said != PAD).sum(axis=1)
    scores = score / lengths.clip(min=1).astype(numpy.float32) ** numpy.float32(power)
    ends = (said == EOS).any(axis=1)
    rows = said[:, : lengths.max()].tolist()
    told = zip(rows, (lengths - ends).tolist(), scores.tolist(), ends.tolist(), strict=True)
    return [[Hypothesis(tuple(row[:count]), own, end)] for row, count, own, end in told]


def beam_results(board: BeamBoard, slots: Int[Tensor, " B"]) -> list[list[Hypothesis]]:
    """The best W of each sentence, those that ended first; what scores −∞ is none."""
    ended, lengths, ended_by, going, places = (
        part[slots].cpu().numpy()
        for part in (
            *(board.ended_score, board.ended_length, board.ended_parent),
            *(board.score, board.places),
        )
    )
    width = ended.shape[1]
    by = board.penalty.cpu().numpy()[places][:, None]
    own = numpy.broadcast_to(numpy.arange(width, dtype=numpy.int32), ended.shape)
    score = numpy.concatenate([ended, going / by], axis=1)
    said = numpy.concatenate([lengths - 1, own * 0 + places[:, None]], axis=1)
    last = numpy.concatenate([ended_by, own], axis=1)
    real = score > -numpy.inf
    best = numpy.argsort(~real, axis=1, kind="stable")[:, :width]
    score, said, last = (numpy.take_along_axis(part, best, axis=1) for part in (score, said, last))
    ids = _told(board, slots, said.clip(min=0), last)
    counts, finished = real.sum(axis=1).clip(max=width).tolist(), (best < width).tolist()
    return [
        [Hypothesis(*one) for one in zip(texts[:count], scores, ends, strict=False)]
        for texts, scores, ends, count in zip(ids, score.tolist(), finished, counts, strict=True)
    ]


def _told(
    board: BeamBoard, slots: Int[Tensor, " B"], said: Numbers, last: Numbers
) -> list[list[tuple[int, ...]]]:
    """The words of hypotheses so long, each followed back from the beginning it ended in."""
    longest = int(said.max())
    words, parents = board.said[slots, :longest], board.grew_from[slots, :longest].long()
    lengths, at = (torch.from_numpy(part).long().to(slots.device) for part in (said, last))
    told = words.new_full((*said.shape, longest), PAD)
    for place in range(longest - 1, -1, -1):
        told[:, :, place] = words[:, place].gather(1, at)
        at = parents[:, place].gather(1, at).where(lengths > place, at)
    return [
        [tuple(one[:size]) for one, size in zip(own, sizes, strict=True)]
        for own, sizes in zip(told.tolist(), said.tolist(), strict=True)
    ]
