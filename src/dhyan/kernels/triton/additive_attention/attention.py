"""Additive attention (Bahdanau, Cho and Bengio, 2015) that never holds tanh(q + k) of all pairs."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.additive_attention.masked_softmax import weigh
from dhyan.kernels.triton.additive_attention.scores import gradient, scores_of_many
from dhyan.kernels.triton.additive_attention.single_query import LONGEST, attend_one, scores_of_few

FEW = 4  # up to so many queries, taking every tanh by itself is faster than preparing exponentials


def additive_attention(
    query: Float[Tensor, "B H T A"],
    keys: Float[Tensor, "B G S A"],
    values: Float[Tensor, "B G S E"],
    energy: Float[Tensor, " A"],
    seen: Bool[Tensor, "#B #H T S"],
) -> Float[Tensor, "B H T E"]:
    """The values, averaged by the softmax of their scores; zeros where nothing is seen."""
    keys, values = (one.expand(-1, query.shape[1], -1, -1) for one in (keys, values))
    tensors = (query, keys, values, energy)
    learning = torch.is_grad_enabled() and any(one.requires_grad for one in tensors)
    if query.shape[2] <= FEW and keys.shape[2] <= LONGEST and not learning:
        return attend_one(query, keys, values, energy, seen, _precision(values))
    weights = weigh(additive_scores(query, keys, energy), seen, _precision(values))
    return weights @ values


def _precision(values: Tensor) -> torch.dtype:
    """What weights and values are multiplied in."""
    kind = values.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else values.dtype


def additive_scores(
    query: Float[Tensor, "*H T A"], keys: Float[Tensor, "*G S A"], energy: Float[Tensor, " A"]
) -> Float[Tensor, "*H T S"]:
    """score(q, k) = energy · tanh(q + k), in single precision."""
    lead = query.shape[:-2]
    keys = keys.expand(*lead, *keys.shape[-2:])
    scores = _Scores.apply(*(one.reshape(-1, *one.shape[-2:]) for one in (query, keys)), energy)
    return scores.reshape(*lead, *scores.shape[-2:])


class _Scores(torch.autograd.Function):
    """The scores, and what a change of each means for queries, keys and energy."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
        query, keys, energy = (one.contiguous() for one in (query, keys, energy))
        ctx.save_for_backward(query, keys, energy)
        make = scores_of_few if query.shape[1] <= FEW else scores_of_many
        return make(query, keys, energy)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        query, keys, energy = ctx.saved_tensors
        wants_query, wants_keys, wants_energy = ctx.needs_input_grad
        for_query = for_keys = for_energy = None
        if wants_query or wants_energy:
            for_query, shares = gradient(query, keys, energy, slopes)
            for_energy = torch.sub(slopes.sum(), shares.sum(dim=0), alpha=2).to(energy.dtype)
        if wants_keys:
            for_keys, _ = gradient(keys, query, energy, slopes.transpose(1, 2))
        return for_query, for_keys, for_energy
