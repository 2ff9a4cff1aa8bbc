"""Triton: one look at all logits, and the next words of a greedy search.

Imported only where Triton runs; `choose.py` has the definitions and chooses between the two.
"""

from dataclasses import dataclass
from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import early
from dhyan.kernels.triton.decode.search_state import GreedyBoard
from dhyan.special_tokens import BOS, EOS, PAD

PAD_ID, BOS_ID, EOS_ID = tl.constexpr(PAD), tl.constexpr(BOS), tl.constexpr(EOS)


@triton.jit
@no_type_check
def sayable(x, word):
    """The logits of words that may be said, where they are numbers."""
    never = (word == PAD_ID) | (word == BOS_ID) | (x != x)
    return tl.where(never, float("-inf"), x)


@triton.jit
@no_type_check
def _chunk_kernel(
    logits,
    bests,
    peaks,
    masses,
    logits_row,
    V: tl.constexpr,
    CHUNKS: tl.constexpr,
    GROUPS: tl.constexpr,
    GROUP: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    nothing = float("-inf")
    group = chunk * GROUPS + tl.arange(0, GROUPS)
    word = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    if EARLY:
        tl.extra.cuda.gdc_wait()
    x = tl.load(logits + row * logits_row + word, mask=word < V, other=nothing).to(tl.float32)
    tl.store(bests + row * (CHUNKS * GROUPS) + group, tl.max(sayable(x, word), axis=1))
    peak = tl.max(tl.max(tl.where(x == x, x, nothing), axis=1), axis=0)
    level = tl.where(peak > nothing, peak, 0.0)
    cell = row * CHUNKS + chunk
    tl.store(peaks + cell, level)
    tl.store(masses + cell, tl.sum(tl.sum(tl.exp(x - level), axis=1), axis=0))


@triton.jit
@no_type_check
def log_mass(peaks, masses, row, CHUNKS: tl.constexpr, CHUNKS_PAD: tl.constexpr):
    """The logarithm of a row's sum of exponentials, from those of its stretches."""
    chunk = tl.arange(0, CHUNKS_PAD)
    real = chunk < CHUNKS
    peak = tl.load(peaks + row * CHUNKS + chunk, mask=real, other=float("-inf"))
    mass = tl.load(masses + row * CHUNKS + chunk, mask=real, other=0.0)
    high = tl.max(peak, axis=0)
    return high + tl.log(tl.sum(tl.where(real, mass * tl.exp(peak - high), 0.0), axis=0))


@triton.jit
@no_type_check
def _greedy_kernel(
    logits,
    bests,
    peaks,
    masses,
    logits_row,
    next_words,
    places,
    limits,
    live,
    score,
    said,
    V: tl.constexpr,
    ROOM: tl.constexpr,
    CHUNKS: tl.constexpr,
    CHUNKS_PAD: tl.constexpr,
    BESTS: tl.constexpr,
    BESTS_PAD: tl.constexpr,
    GROUP: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    sentence = tl.program_id(0).to(tl.int64)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    if tl.load(live + sentence) != 0:
        place = tl.load(places + sentence)
        norm = log_mass(peaks, masses, sentence, CHUNKS, CHUNKS_PAD)
        group = tl.arange(0, BESTS_PAD)
        given = tl.load(bests + sentence * BESTS + group, mask=group < BESTS, other=float("-inf"))
        _, which = tl.max(given, axis=0, return_indices=True)
        near = which * GROUP + tl.arange(0, GROUP)
        x = tl.load(logits + sentence * logits_row + near, mask=near < V, other=float("-inf"))
        best, inner = tl.max(sayable(x.to(tl.float32), near), axis=0, return_indices=True)
        sound = (norm == norm) & (norm < float("inf")) & (best > float("-inf"))
        word = tl.where(sound, which * GROUP + inner, PAD_ID)
        own = tl.where(sound, best - norm, float("-inf"))
        tl.store(score + sentence, tl.load(score + sentence) + own)
        tl.store(said + sentence * ROOM + place + 1, word)
        tl.store(next_words + sentence, word)
        stops = (word == EOS_ID) | (word == PAD_ID) | (place + 1 >= tl.load(limits + sentence))
        tl.store(live + sentence, tl.where(stops, 0, 1))
        tl.store(places + sentence, place + 1)


GROUP, GROUPS = 32, 128  # words; a stretch is as much as four warps hold in registers


@dataclass(frozen=True)
class Chunks:
    """What one look at all logits told, and how it is cut."""

    tensors: tuple[Tensor, Tensor, Tensor, Tensor]
    sizes: dict[str, int]


def in_chunks(logits: Float[Tensor, "R V"]) -> Chunks:
    """Launch: the best of every group of words, and the probability of every stretch of groups."""
    rows, vocabulary = logits.shape
    groups = min(GROUPS, triton.next_power_of_2(triton.cdiv(vocabulary, GROUP)))
    chunks = triton.cdiv(vocabulary, groups * GROUP)
    bests = torch.empty(rows, chunks * groups, device=logits.device)
    peaks, masses = torch.empty(2, rows, chunks, device=logits.device).unbind()
    sizes = {"V": vocabulary, "CHUNKS": chunks, "GROUP": GROUP}
    _chunk_kernel[(rows, chunks)](
        logits,
        bests,
        peaks,
        masses,
        logits.stride(0),
        **sizes,
        GROUPS=groups,
        num_warps=4,
        **early(logits),
    )
    sizes["CHUNKS_PAD"] = triton.next_power_of_2(chunks)
    sizes["BESTS"], sizes["BESTS_PAD"] = chunks * groups, triton.next_power_of_2(chunks * groups)
    return Chunks((logits, bests, peaks, masses), sizes)


def choose_greedily(board: GreedyBoard, logits: Float[Tensor, "N V"]) -> None:
    """Launch: the likeliest word joins what each live sentence has said."""
    found = in_chunks(logits)
    _greedy_kernel[(len(logits),)](
        *found.tensors,
        logits.stride(0),
        board.words,
        board.places,
        board.limits,
        board.live,
        board.score,
        board.said,
        **found.sizes,
        ROOM=board.said.shape[1],
        num_warps=1,
        **early(logits),
    )
