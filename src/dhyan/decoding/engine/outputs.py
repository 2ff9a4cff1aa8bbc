"""From what was seen of a search to hypotheses; on the host, where numpy is quick with little."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from dhyan.decoding.beam import Hypothesis
from dhyan.special_tokens import EOS, PAD

Seen = Mapping[str, NDArray[Any]]
FollowedBack = Callable[[Tensor, Tensor, int], Tensor]  # lengths, last beginnings, the most words


def greedy_results(seen: Seen, power: float) -> list[list[Hypothesis]]:
    """What sentences have said, of a greedy board."""
    said = seen["said"][:, 1:]
    lengths = (said != PAD).sum(axis=1)
    scores = seen["score"] / _by(lengths, power)
    ends = (said == EOS).any(axis=1)
    rows = said[:, : lengths.max()].tolist()
    told = zip(rows, (lengths - ends).tolist(), scores.tolist(), ends.tolist(), strict=True)
    return [[Hypothesis(tuple(row[:count]), own, end)] for row, count, own, end in told]


def beam_results(
    seen: Seen, followed_back: FollowedBack, count: int, power: float
) -> list[list[Hypothesis]]:
    """The best few of each sentence, those that ended first; what scores −∞ is none."""
    ended, places = seen["ended_score"], seen["places"][:, None]
    width = ended.shape[1]
    own = numpy.broadcast_to(numpy.arange(width, dtype=numpy.int32), ended.shape)
    score = numpy.concatenate([ended, seen["score"] / _by(places, power)], axis=1)
    said = numpy.concatenate([seen["ended_length"] - 1, own * 0 + places], axis=1)
    last = numpy.concatenate([seen["ended_parent"], own], axis=1)
    real = score > -numpy.inf
    best = numpy.argsort(~real, axis=1, kind="stable")[:, :count]
    score, said, last = (numpy.take_along_axis(part, best, axis=1) for part in (score, said, last))
    said = said.clip(min=0)
    told = followed_back(torch.from_numpy(said), torch.from_numpy(last), int(said.max()))
    counts, finished = real.sum(axis=1).clip(max=count).tolist(), (best < width).tolist()
    sentences = zip(told.tolist(), said.tolist(), score.tolist(), finished, counts, strict=True)
    return [
        [
            Hypothesis(tuple(words[:size]), own, end)
            for words, size, own, end in zip(*parts, strict=True)
        ][:real_ones]
        for *parts, real_ones in sentences
    ]


def _by(lengths: NDArray[Any], power: float) -> NDArray[numpy.float32]:
    """What scores of so many words are divided by."""
    return (lengths.clip(min=1).astype(numpy.float64) ** power).astype(numpy.float32)
