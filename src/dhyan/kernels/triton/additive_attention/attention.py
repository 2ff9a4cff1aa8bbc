"""Additive attention (Bahdanau, Cho and Bengio, 2015) that never holds tanh(q + k) of all pairs."""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.additive_attention.scores import pairwise_gradient, pairwise_scores
from dhyan.kernels.triton.additive_attention.single_query import (
    MAX_POSITIONS,
    attend_single_queries,
    few_query_scores,
)
from dhyan.kernels.triton.masked_softmax import masked_softmax

FEW_QUERIES = (
    4  # up to so many queries, taking every tanh by itself is faster than preparing exponentials
)


def additive_attention(
    query: Float[Tensor, "B H T A"],
    keys: Float[Tensor, "B G S A"],
    values: Float[Tensor, "B G S E"],
    energy: Float[Tensor, " A"],
    mask: Bool[Tensor, "#B #H T S"],
) -> Float[Tensor, "B H T E"]:
    """The values averaged by the masked softmax of their scores."""
    keys, values = (tensor.expand(-1, query.shape[1], -1, -1) for tensor in (keys, values))
    tensors = (query, keys, values, energy)
    needs_grad = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if query.shape[2] <= FEW_QUERIES and keys.shape[2] <= MAX_POSITIONS and not needs_grad:
        return attend_single_queries(query, keys, values, energy, mask, _product_dtype(values))
    weights = masked_softmax(additive_scores(query, keys, energy), mask, _product_dtype(values))
    return weights @ values


def _product_dtype(values: Tensor) -> torch.dtype:
    """The dtype in which weights and values are multiplied."""
    device = values.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else values.dtype


def additive_scores(
    query: Float[Tensor, "*H T A"], keys: Float[Tensor, "*G S A"], energy: Float[Tensor, " A"]
) -> Float[Tensor, "*H T S"]:
    """score(q, k) = energy · tanh(q + k), in single precision."""
    leading = query.shape[:-2]
    keys = keys.expand(*leading, *keys.shape[-2:])
    scores = _Scores.apply(
        *(tensor.reshape(-1, *tensor.shape[-2:]) for tensor in (query, keys)), energy
    )
    return scores.reshape(*leading, *scores.shape[-2:])


class _Scores(torch.autograd.Function):
    """The scores, and the gradients of query, keys and energy."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
        query, keys, energy = (tensor.contiguous() for tensor in (query, keys, energy))
        ctx.save_for_backward(query, keys, energy)
        kernel = few_query_scores if query.shape[1] <= FEW_QUERIES else pairwise_scores
        return kernel(query, keys, energy)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_scores: Tensor) -> tuple[Tensor | None, ...]:
        query, keys, energy = ctx.saved_tensors
        wants_query, wants_keys, wants_energy = ctx.needs_input_grad
        grad_query = grad_keys = grad_energy = None
        if wants_query or wants_energy:
            grad_query, sigmoid_sums = pairwise_gradient(query, keys, energy, grad_scores)
            grad_energy = torch.sub(grad_scores.sum(), sigmoid_sums.sum(dim=0), alpha=2).to(
                energy.dtype
            )
        if wants_keys:
            grad_keys, _ = pairwise_gradient(keys, query, energy, grad_scores.transpose(1, 2))
        return grad_query, grad_keys, grad_energy
