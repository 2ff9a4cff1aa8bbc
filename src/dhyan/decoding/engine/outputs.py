"""From the state of a finished search to hypotheses; on the host, where numpy is fast on little."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from dhyan.decoding.beam import Hypothesis
from dhyan.special_tokens import EOS, PAD

HostState = Mapping[str, NDArray[Any]]
Backtrace = Callable[[Tensor, Tensor, int], Tensor]  # lengths, last parents, the greatest length


def greedy_results(state: HostState, length_penalty: float) -> list[list[Hypothesis]]:
    """The hypothesis of each sentence of a greedy search."""
    ids = state["ids"][:, 1:]
    lengths = (ids != PAD).sum(axis=1)
    scores = state["score"] / _length_divisor(lengths, length_penalty)
    finished = (ids == EOS).any(axis=1)
    counts, rows = (lengths - finished).tolist(), ids[:, : lengths.max()].tolist()
    results = zip(rows, counts, scores.tolist(), finished.tolist(), strict=True)
    return [[Hypothesis(tuple(row[:count]), score, end)] for row, count, score, end in results]


def beam_results(
    state: HostState, backtrace: Backtrace, nbest: int, length_penalty: float
) -> list[list[Hypothesis]]:
    """The best few hypotheses of each sentence, finished ones first; −inf marks an empty slot."""
    finished_score, steps = state["finished_score"], state["steps"][:, None]
    width = finished_score.shape[1]
    own = numpy.broadcast_to(numpy.arange(width, dtype=numpy.int32), finished_score.shape)
    unfinished_score = state["score"] / _length_divisor(steps, length_penalty)
    score = numpy.concatenate([finished_score, unfinished_score], axis=1)
    length = numpy.concatenate([state["finished_length"] - 1, own * 0 + steps], axis=1)
    last = numpy.concatenate([state["finished_parent"], own], axis=1)
    real = score > -numpy.inf
    best = numpy.argsort(~real, axis=1, kind="stable")[:, :nbest]
    score, length, last = (
        numpy.take_along_axis(part, best, axis=1) for part in (score, length, last)
    )
    length = length.clip(min=0)
    ids = backtrace(torch.from_numpy(length), torch.from_numpy(last), int(length.max()))
    counts, finished = real.sum(axis=1).clip(max=nbest).tolist(), (best < width).tolist()
    sentences = zip(ids.tolist(), length.tolist(), score.tolist(), finished, counts, strict=True)
    return [
        [
            Hypothesis(tuple(row[:size]), own_score, end)
            for row, size, own_score, end in zip(*columns, strict=True)
        ][:count]
        for *columns, count in sentences
    ]


def _length_divisor(lengths: NDArray[Any], length_penalty: float) -> NDArray[numpy.float32]:
    """What scores of so many tokens are divided by."""
    return (lengths.clip(min=1).astype(numpy.float64) ** length_penalty).astype(numpy.float32)
