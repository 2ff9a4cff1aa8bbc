"""Triton: greedy search step, from logits to the next tokens in one pass.

Imported only where Triton runs; `dhyan.kernels.decode.next_token` has the definitions.
"""

from dataclasses import dataclass
from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from dhyan.kernels.search_state import GreedySearchState
from dhyan.kernels.triton.decode.dependent_launch import launch_options
from dhyan.special_tokens import BOS, EOS, PAD

PAD_ID, BOS_ID, EOS_ID = tl.constexpr(PAD), tl.constexpr(BOS), tl.constexpr(EOS)


@triton.jit
@no_type_check
def allowed_logits(x, token):
    """The logits of tokens a search may choose; −inf for the others and for NaN."""
    forbidden = (token == PAD_ID) | (token == BOS_ID) | (x != x)
    return tl.where(forbidden, float("-inf"), x)


@triton.jit
@no_type_check
def _chunk_kernel(
    logits,
    group_maxima,
    chunk_maxima,
    chunk_sums,
    logits_row,
    V: tl.constexpr,
    CHUNKS: tl.constexpr,
    GROUPS: tl.constexpr,
    GROUP: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    """One chunk of one row: the maximum of each group of tokens, and the sum of exponentials."""
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    empty = float("-inf")
    group = chunk * GROUPS + tl.arange(0, GROUPS)
    token = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    x = tl.load(logits + row * logits_row + token, mask=token < V, other=empty).to(tl.float32)
    tl.store(
        group_maxima + row * (CHUNKS * GROUPS) + group, tl.max(allowed_logits(x, token), axis=1)
    )
    maximum = tl.max(tl.max(tl.where(x == x, x, empty), axis=1), axis=0)
    level = tl.where(maximum > empty, maximum, 0.0)
    cell = row * CHUNKS + chunk
    tl.store(chunk_maxima + cell, level)
    tl.store(chunk_sums + cell, tl.sum(tl.sum(tl.exp(x - level), axis=1), axis=0))


@triton.jit
@no_type_check
def log_normalizer(chunk_maxima, chunk_sums, row, CHUNKS: tl.constexpr, CHUNKS_PAD: tl.constexpr):
    """The logarithm of a row's sum of exponentials, from those of its chunks."""
    chunk = tl.arange(0, CHUNKS_PAD)
    real = chunk < CHUNKS
    maximum = tl.load(chunk_maxima + row * CHUNKS + chunk, mask=real, other=float("-inf"))
    chunk_sum = tl.load(chunk_sums + row * CHUNKS + chunk, mask=real, other=0.0)
    highest = tl.max(maximum, axis=0)
    return highest + tl.log(
        tl.sum(tl.where(real, chunk_sum * tl.exp(maximum - highest), 0.0), axis=0)
    )


@triton.jit
@no_type_check
def _greedy_kernel(
    logits,
    group_maxima,
    chunk_maxima,
    chunk_sums,
    logits_row,
    next_tokens,
    steps,
    max_lengths,
    active,
    score,
    ids,
    V: tl.constexpr,
    CAPACITY: tl.constexpr,
    CHUNKS: tl.constexpr,
    CHUNKS_PAD: tl.constexpr,
    MAXIMA: tl.constexpr,
    MAXIMA_PAD: tl.constexpr,
    GROUP: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    """One sentence: its best token is in the group of the greatest maximum."""
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    sentence = tl.program_id(0).to(tl.int64)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    if tl.load(active + sentence) != 0:
        step = tl.load(steps + sentence)
        norm = log_normalizer(chunk_maxima, chunk_sums, sentence, CHUNKS, CHUNKS_PAD)
        group = tl.arange(0, MAXIMA_PAD)
        maxima = tl.load(
            group_maxima + sentence * MAXIMA + group, mask=group < MAXIMA, other=float("-inf")
        )
        _, which = tl.max(maxima, axis=0, return_indices=True)
        candidates = which * GROUP + tl.arange(0, GROUP)
        x = tl.load(
            logits + sentence * logits_row + candidates, mask=candidates < V, other=float("-inf")
        )
        best, inner = tl.max(
            allowed_logits(x.to(tl.float32), candidates), axis=0, return_indices=True
        )
        finite = (norm == norm) & (norm < float("inf")) & (best > float("-inf"))
        token = tl.where(finite, which * GROUP + inner, PAD_ID)
        logprob = tl.where(finite, best - norm, float("-inf"))
        tl.store(score + sentence, tl.load(score + sentence) + logprob)
        tl.store(ids + sentence * CAPACITY + step + 1, token)
        tl.store(next_tokens + sentence, token)
        stops = (
            (token == EOS_ID) | (token == PAD_ID) | (step + 1 >= tl.load(max_lengths + sentence))
        )
        tl.store(active + sentence, tl.where(stops, 0, 1))
        tl.store(steps + sentence, step + 1)


GROUP, GROUPS = 32, 128  # tokens; a chunk is as much as four warps hold in registers


@dataclass(frozen=True)
class LogitChunks:
    """The maxima and exponential sums of one pass over all logits, and their sizes."""

    tensors: tuple[Tensor, Tensor, Tensor, Tensor]
    sizes: dict[str, int]


def chunk_logits(logits: Float[Tensor, "R V"]) -> LogitChunks:
    """Launch: the maximum of every group of tokens, and the exponential sum of every chunk."""
    rows, vocabulary = logits.shape
    groups = min(GROUPS, triton.next_power_of_2(triton.cdiv(vocabulary, GROUP)))
    chunks = triton.cdiv(vocabulary, groups * GROUP)
    group_maxima = torch.empty(rows, chunks * groups, device=logits.device)
    chunk_maxima, chunk_sums = torch.empty(2, rows, chunks, device=logits.device).unbind()
    sizes = {"V": vocabulary, "CHUNKS": chunks, "GROUP": GROUP}
    _chunk_kernel[(rows, chunks)](
        logits,
        group_maxima,
        chunk_maxima,
        chunk_sums,
        logits.stride(0),
        **sizes,
        GROUPS=groups,
        num_warps=4,
        **launch_options(logits),
    )
    sizes["CHUNKS_PAD"] = triton.next_power_of_2(chunks)
    sizes["MAXIMA"], sizes["MAXIMA_PAD"] = chunks * groups, triton.next_power_of_2(chunks * groups)
    return LogitChunks((logits, group_maxima, chunk_maxima, chunk_sums), sizes)


def greedy_step(search: GreedySearchState, logits: Float[Tensor, "N V"]) -> None:
    """Launch: append the best token to the hypothesis of each active sentence."""
    chunks = chunk_logits(logits)
    _greedy_kernel[(len(logits),)](
        *chunks.tensors,
        logits.stride(0),
        search.tokens,
        search.steps,
        search.max_lengths,
        search.active,
        search.score,
        search.ids,
        **chunks.sizes,
        CAPACITY=search.ids.shape[1],
        num_warps=1,
        **launch_options(logits),
    )
