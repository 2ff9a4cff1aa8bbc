"""Triton: a step of beam search from logits, and the backtrace of finished hypotheses.

Imported only where Triton runs; `dhyan.kernels.decode.next_token` has the definitions.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.kernels.search_state import BeamSearchState
from dhyan.kernels.triton.decode.dependent_launch import launch_options
from dhyan.kernels.triton.decode.greedy import (
    EOS_ID,
    PAD_ID,
    allowed_logits,
    chunk_logits,
    log_normalizer,
)


@triton.jit
@no_type_check
def _top_tokens_kernel(
    logits,
    group_maxima,
    chunk_maxima,
    chunk_sums,
    logits_row,
    top_logprobs,
    tokens,
    V: tl.constexpr,
    CHUNKS: tl.constexpr,
    CHUNKS_PAD: tl.constexpr,
    MAXIMA: tl.constexpr,
    MAXIMA_PAD: tl.constexpr,
    GROUP: tl.constexpr,
    BEST: tl.constexpr,
    BEST_PAD: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    """The best tokens of one row, with their log-probabilities; −inf where there are none."""
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    empty = float("-inf")
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    norm = log_normalizer(chunk_maxima, chunk_sums, row, CHUNKS, CHUNKS_PAD)
    finite = (norm == norm) & (norm < float("inf"))
    group = tl.arange(0, MAXIMA_PAD)
    present = tl.load(group_maxima + row * MAXIMA + group, mask=group < MAXIMA, other=empty)
    # The best tokens are in the groups of the greatest maxima.
    rank = tl.arange(0, BEST_PAD)
    chosen = tl.full([BEST_PAD], -1, tl.int32)
    for turn in range(BEST):
        best, which = tl.max(present, axis=0, return_indices=True)
        chosen = tl.where(rank == turn, tl.where(best > empty, which, -1), chosen)
        present = tl.where(group == which, empty, present)
    candidates = chosen[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    among = (chosen >= 0)[:, None] & (candidates < V)
    logit = tl.load(logits + row * logits_row + candidates, mask=among, other=empty).to(tl.float32)
    remaining = tl.reshape(allowed_logits(logit, candidates), [BEST_PAD * GROUP])
    token_of = tl.reshape(candidates, [BEST_PAD * GROUP])
    number = tl.arange(0, BEST_PAD * GROUP)
    for turn in range(BEST):
        best, which = tl.max(remaining, axis=0, return_indices=True)
        tl.store(top_logprobs + row * BEST + turn, tl.where(finite, best - norm, empty))
        tl.store(tokens + row * BEST + turn, tl.sum(tl.where(number == which, token_of, 0), axis=0))
        remaining = tl.where(number == which, empty, remaining)


@triton.jit
@no_type_check
def _element(vector, at, which):
    return tl.sum(tl.where(at == which, vector, 0), axis=0)


@triton.jit
@no_type_check
def _best_candidates(
    top_logprobs,
    score,
    row,
    real,
    candidate,
    W_PAD: tl.constexpr,
    BEST: tl.constexpr,
    BEST_PAD: tl.constexpr,
):
    """The scores and places of the best candidates of all hypotheses, best first."""
    present = real[:, None] & (candidate < BEST)[None, :]
    top = tl.load(
        top_logprobs + row[:, None] * BEST + candidate[None, :], mask=present, other=float("-inf")
    )
    base = tl.load(score + row, mask=real, other=float("-inf"))
    remaining = tl.reshape(base[:, None] + top, [W_PAD * BEST_PAD])
    number = tl.arange(0, W_PAD * BEST_PAD)
    candidate_score = tl.full([BEST_PAD], float("-inf"), tl.float32)
    candidate_at = tl.zeros([BEST_PAD], tl.int32)
    used = tl.zeros([W_PAD * BEST_PAD], tl.int32)
    for rank in range(BEST):
        unused = tl.where(used == 0, remaining, float("-inf"))
        best, which = tl.max(unused, axis=0, return_indices=True)
        candidate_score = tl.where(candidate == rank, best, candidate_score)
        candidate_at = tl.where(candidate == rank, which, candidate_at)
        used = tl.where(number == which, 1, used)
    return candidate_score, candidate_at


@triton.jit
@no_type_check
def _extend_cache_rows(
    cache_rows,
    cache_rows_parity,
    sentence,
    step,
    parent_of_row,
    row,
    real,
    W: tl.constexpr,
    CAPACITY: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write for the next step which rows hold the keys and values of every position so far."""
    old = cache_rows + (step % 2) * cache_rows_parity
    new = cache_rows + ((step + 1) % 2) * cache_rows_parity
    for start in range(0, step, BLOCK):
        past = start + tl.arange(0, BLOCK)
        both = real[:, None] & (past < step)[None, :]
        cache_row = tl.load(
            old + (sentence * W + parent_of_row)[:, None] * CAPACITY + past[None, :],
            mask=both,
            other=0,
        )
        tl.store(new + row[:, None] * CAPACITY + past[None, :], cache_row, mask=both)
    tl.store(new + row * CAPACITY + step, parent_of_row.to(cache_rows.dtype.element_ty), mask=real)


@triton.jit
@no_type_check
def _merge_finished(
    finished_score,
    finished_length,
    finished_parent,
    sentence,
    row,
    real,
    beam,
    candidate,
    ending_score,
    ending_parent,
    length,
    W: tl.constexpr,
):
    """Keep the best W of the finished hypotheses and those that end now; returns the last score."""
    finished = tl.load(finished_score + row, mask=real, other=float("-inf"))
    lengths = tl.load(finished_length + row, mask=real, other=0)
    parents = tl.load(finished_parent + row, mask=real, other=0)
    tl.debug_barrier()  # a slow warp may still be reading what a fast one writes below
    last = float("-inf")
    for rank in range(W):
        before, old_at = tl.max(finished, axis=0, return_indices=True)
        now, new_at = tl.max(ending_score, axis=0, return_indices=True)
        stays = before >= now
        last = tl.maximum(before, now)
        tl.store(finished_score + sentence * W + rank, last)
        new_length = tl.where(stays, _element(lengths, beam, old_at), length)
        new_parent = tl.where(
            stays, _element(parents, beam, old_at), _element(ending_parent, candidate, new_at)
        )
        tl.store(finished_length + sentence * W + rank, new_length)
        tl.store(finished_parent + sentence * W + rank, new_parent)
        finished = tl.where(beam == tl.where(stays, old_at, -1), float("-inf"), finished)
        ending_score = tl.where(
            candidate == tl.where(stays, -1, new_at), float("-inf"), ending_score
        )
    return last


@triton.jit
@no_type_check
def _beam_kernel(
    top_logprobs,
    tokens,
    next_tokens,
    steps,
    max_lengths,
    active,
    score,
    parents,
    ids,
    backpointers,
    finished_score,
    finished_length,
    finished_parent,
    cache_rows,
    length_divisor,
    cache_rows_parity,
    W: tl.constexpr,
    W_PAD: tl.constexpr,
    CAPACITY: tl.constexpr,
    BEST: tl.constexpr,
    BEST_PAD: tl.constexpr,
    BLOCK: tl.constexpr,
    DEPENDENT: tl.constexpr,
):
    """One sentence: the W best extensions that go on, and the W best finished hypotheses."""
    if DEPENDENT:
        tl.extra.cuda.gdc_launch_dependents()
    sentence = tl.program_id(0).to(tl.int64)
    if DEPENDENT:
        tl.extra.cuda.gdc_wait()
    if tl.load(active + sentence) != 0:
        step = tl.load(steps + sentence)
        beam = tl.arange(0, W_PAD)
        real = beam < W
        row = sentence * W + beam
        candidate = tl.arange(0, BEST_PAD)
        candidate_score, candidate_at = _best_candidates(
            top_logprobs, score, row, real, candidate, W_PAD, BEST, BEST_PAD
        )
        ranked = candidate < BEST
        parent = candidate_at // BEST_PAD
        at = candidate_at % BEST_PAD
        valid = ranked & (candidate_score > float("-inf"))
        token = tl.load(tokens + (sentence * W + parent) * BEST + at, mask=valid, other=PAD_ID)
        parent = tl.where(valid, parent, 0)
        going = ranked & (token != EOS_ID)
        rank = tl.cumsum(going.to(tl.int32), axis=0) - 1
        keep = going & (rank < W)
        tl.store(score + sentence * W + rank, candidate_score, mask=keep)
        tl.store(next_tokens + sentence * W + rank, token, mask=keep)
        tl.store(parents + sentence * W + rank, parent, mask=keep)
        line = (sentence * CAPACITY + step) * W + rank
        tl.store(ids + line, token, mask=keep)
        tl.store(backpointers + line, parent, mask=keep)
        length = step + 1
        divisor = tl.load(length_divisor + length)
        best_going = tl.max(tl.where(keep, candidate_score, float("-inf")), axis=0) / divisor
        chosen = keep[None, :] & (rank[None, :] == beam[:, None])
        parent_of_row = tl.sum(tl.where(chosen, parent[None, :], 0), axis=1)
        _extend_cache_rows(
            cache_rows, cache_rows_parity, sentence, step, parent_of_row, row, real,
            W, CAPACITY, BLOCK,
        )  # fmt: skip
        # An end counts if it is among the best W candidates.
        ends = (token == EOS_ID) & (candidate < W)
        ending_score = tl.where(ends, candidate_score / divisor, float("-inf"))
        last = _merge_finished(
            finished_score, finished_length, finished_parent, sentence, row, real, beam,
            candidate, ending_score, parent, length, W,
        )  # fmt: skip
        done = (best_going <= last) | (length >= tl.load(max_lengths + sentence))
        tl.store(active + sentence, tl.where(done, 0, 1))
        tl.store(steps + sentence, length)


@triton.jit
@no_type_check
def _backtrace_kernel(
    ids,
    backpointers,
    slots,
    lengths,
    last,
    output,
    capacity,
    max_length,
    C: tl.constexpr,
    W: tl.constexpr,
):
    """One hypothesis, from its last token to its first."""
    row = tl.program_id(0).to(tl.int64)
    start = tl.load(slots + row // C).to(tl.int64) * capacity
    length = tl.load(lengths + row)
    at = tl.load(last + row)
    for back in range(length):
        step = length - 1 - back
        cell = (start + step) * W + at
        tl.store(output + row * max_length + step, tl.load(ids + cell))
        at = tl.load(backpointers + cell)


def beam_step(search: BeamSearchState, logits: Float[Tensor, "R V"]) -> None:
    """Launch: extend the hypotheses of every active sentence by a token."""
    sentences, width = search.score.shape
    chunks, rows, best = chunk_logits(logits), len(logits), 2 * width
    sizes = {"BEST": best, "BEST_PAD": triton.next_power_of_2(best)}
    top_logprobs = torch.empty(rows, best, device=logits.device)
    tokens = torch.empty(rows, best, dtype=torch.int32, device=logits.device)
    _top_tokens_kernel[(rows,)](
        *chunks.tensors,
        logits.stride(0),
        top_logprobs,
        tokens,
        **chunks.sizes,
        **sizes,
        num_warps=4,
        **launch_options(logits),
    )
    _beam_kernel[(sentences,)](
        top_logprobs,
        tokens,
        search.tokens,
        search.steps,
        search.max_lengths,
        search.active,
        search.score,
        search.parents,
        search.ids,
        search.backpointers,
        search.finished_score,
        search.finished_length,
        search.finished_parent,
        search.cache_rows,
        search.length_divisor,
        search.cache_rows.stride(0),
        W=width,
        W_PAD=triton.next_power_of_2(width),
        CAPACITY=search.cache_rows.shape[3],
        **sizes,
        BLOCK=64,
        num_warps=4,
        **launch_options(logits),
    )


def backtrace(
    ids: Int[Tensor, "N T W"],
    backpointers: Int[Tensor, "N T W"],
    slots: Int[Tensor, " B"],
    lengths: Int[Tensor, "B C"],
    last: Int[Tensor, "B C"],
    output: Int[Tensor, "B C L"],
) -> None:
    """Launch: the token ids of hypotheses of these lengths, from their last parents."""
    count, max_length = output.shape[1:]
    capacity, width = ids.shape[1:]
    _backtrace_kernel[(lengths.numel(),)](
        ids,
        backpointers,
        slots,
        lengths,
        last,
        output,
        capacity,
        max_length,
        C=count,
        W=width,
        num_warps=1,
    )
