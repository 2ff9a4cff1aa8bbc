"""Triton: from logits to the next words of a beam search.

Imported only where Triton runs; `choose.py` has the definitions and chooses between the two.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from dhyan.kernels.triton.decode.dependent_launch import early
from dhyan.kernels.triton.decode.greedy import EOS_ID, PAD_ID, in_chunks, log_mass, sayable
from dhyan.kernels.triton.decode.search_state import BeamBoard


@triton.jit
@no_type_check
def _best_kernel(
    logits,
    bests,
    peaks,
    masses,
    logits_row,
    tops,
    words,
    V: tl.constexpr,
    CHUNKS: tl.constexpr,
    CHUNKS_PAD: tl.constexpr,
    BESTS: tl.constexpr,
    BESTS_PAD: tl.constexpr,
    GROUP: tl.constexpr,
    BEST: tl.constexpr,
    BEST_PAD: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    nothing = float("-inf")
    if EARLY:
        tl.extra.cuda.gdc_wait()
    norm = log_mass(peaks, masses, row, CHUNKS, CHUNKS_PAD)
    sound = (norm == norm) & (norm < float("inf"))
    group = tl.arange(0, BESTS_PAD)
    given = tl.load(bests + row * BESTS + group, mask=group < BESTS, other=nothing)
    # The best words lie in the groups of the best bests.
    rank = tl.arange(0, BEST_PAD)
    chosen = tl.full([BEST_PAD], -1, tl.int32)
    for turn in range(BEST):
        best, which = tl.max(given, axis=0, return_indices=True)
        chosen = tl.where(rank == turn, tl.where(best > nothing, which, -1), chosen)
        given = tl.where(group == which, nothing, given)
    near = chosen[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    among = (chosen >= 0)[:, None] & (near < V)
    few = tl.load(logits + row * logits_row + near, mask=among, other=nothing).to(tl.float32)
    left = tl.reshape(sayable(few, near), [BEST_PAD * GROUP])
    name = tl.reshape(near, [BEST_PAD * GROUP])
    number = tl.arange(0, BEST_PAD * GROUP)
    for turn in range(BEST):
        best, which = tl.max(left, axis=0, return_indices=True)
        tl.store(tops + row * BEST + turn, tl.where(sound, best - norm, nothing))
        tl.store(words + row * BEST + turn, tl.sum(tl.where(number == which, name, 0), axis=0))
        left = tl.where(number == which, nothing, left)


@triton.jit
@no_type_check
def _picked(vector, at, which):
    return tl.sum(tl.where(at == which, vector, 0), axis=0)


@triton.jit
@no_type_check
def _beam_kernel(
    tops,
    words,
    next_words,
    places,
    limits,
    live,
    score,
    parents,
    said,
    grew_from,
    ended_score,
    ended_length,
    ended_parent,
    origins,
    penalty,
    origin_parity,
    W: tl.constexpr,
    W_PAD: tl.constexpr,
    ROOM: tl.constexpr,
    BEST: tl.constexpr,
    BEST_PAD: tl.constexpr,
    BLOCK: tl.constexpr,
    EARLY: tl.constexpr,
):
    if EARLY:
        tl.extra.cuda.gdc_launch_dependents()
    sentence = tl.program_id(0).to(tl.int64)
    if EARLY:
        tl.extra.cuda.gdc_wait()
    if tl.load(live + sentence) != 0:
        place = tl.load(places + sentence)
        nothing = float("-inf")
        beam = tl.arange(0, W_PAD)
        mine = beam < W
        row = sentence * W + beam
        # The best options of all, best first.
        option = tl.arange(0, BEST_PAD)
        given = mine[:, None] & (option < BEST)[None, :]
        top = tl.load(tops + row[:, None] * BEST + option[None, :], mask=given, other=nothing)
        base = tl.load(score + row, mask=mine, other=nothing)
        left = tl.reshape(base[:, None] + top, [W_PAD * BEST_PAD])
        number = tl.arange(0, W_PAD * BEST_PAD)
        option_score = tl.full([BEST_PAD], float("-inf"), tl.float32)
        option_at = tl.zeros([BEST_PAD], tl.int32)
        taken = tl.zeros([W_PAD * BEST_PAD], tl.int32)
        for rank in range(BEST):
            free = tl.where(taken == 0, left, nothing)
            best, which = tl.max(free, axis=0, return_indices=True)
            option_score = tl.where(option == rank, best, option_score)
            option_at = tl.where(option == rank, which, option_at)
            taken = tl.where(number == which, 1, taken)
        whole = option < BEST
        parent = option_at // BEST_PAD
        at = option_at % BEST_PAD
        possible = whole & (option_score > nothing)
        word = tl.load(words + (sentence * W + parent) * BEST + at, mask=possible, other=PAD_ID)
        parent = tl.where(possible, parent, 0)
        # Those that do not end go on.
        going = whole & (word != EOS_ID)
        rank = tl.cumsum(going.to(tl.int32), axis=0) - 1
        kept = going & (rank < W)
        tl.store(score + sentence * W + rank, option_score, mask=kept)
        tl.store(next_words + sentence * W + rank, word, mask=kept)
        tl.store(parents + sentence * W + rank, parent, mask=kept)
        line = (sentence * ROOM + place) * W + rank
        tl.store(said + line, word, mask=kept)
        tl.store(grew_from + line, parent, mask=kept)
        length = place + 1
        by = tl.load(penalty + length)
        brightest = tl.max(tl.where(kept, option_score, nothing), axis=0) / by
        # Whose keys each of them sees at every earlier place.
        chosen = kept[None, :] & (rank[None, :] == beam[:, None])
        source = tl.sum(tl.where(chosen, parent[None, :], 0), axis=1)
        old = origins + (place % 2) * origin_parity
        new = origins + ((place + 1) % 2) * origin_parity
        for start in range(0, place, BLOCK):
            past = start + tl.arange(0, BLOCK)
            both = mine[:, None] & (past < place)[None, :]
            holder = tl.load(
                old + (sentence * W + source)[:, None] * ROOM + past[None, :], mask=both, other=0
            )
            tl.store(new + row[:, None] * ROOM + past[None, :], holder, mask=both)
        tl.store(new + row * ROOM + place, source.to(origins.dtype.element_ty), mask=mine)
        # An end counts if it is among the best W; the best W of all ends are kept.
        ending = tl.where((word == EOS_ID) & (option < W), option_score / by, nothing)
        ended = tl.load(ended_score + row, mask=mine, other=nothing)
        ended_at = tl.load(ended_length + row, mask=mine, other=0)
        ended_by = tl.load(ended_parent + row, mask=mine, other=0)
        tl.debug_barrier()  # a slow warp may still be reading what a fast one writes below
        last = nothing
        for turn in range(W):
            before, old_at = tl.max(ended, axis=0, return_indices=True)
            now, new_at = tl.max(ending, axis=0, return_indices=True)
            stays = before >= now
            last = tl.maximum(before, now)
            tl.store(ended_score + sentence * W + turn, last)
            at_length = tl.where(stays, _picked(ended_at, beam, old_at), length)
            by_parent = tl.where(
                stays, _picked(ended_by, beam, old_at), _picked(parent, option, new_at)
            )
            tl.store(ended_length + sentence * W + turn, at_length)
            tl.store(ended_parent + sentence * W + turn, by_parent)
            ended = tl.where(beam == tl.where(stays, old_at, -1), nothing, ended)
            ending = tl.where(option == tl.where(stays, -1, new_at), nothing, ending)
        done = (brightest <= last) | (length >= tl.load(limits + sentence))
        tl.store(live + sentence, tl.where(done, 0, 1))
        tl.store(places + sentence, length)


def choose_beams(board: BeamBoard, logits: Float[Tensor, "R V"]) -> None:
    """Launch: every live sentence's beginnings grow by a word."""
    sentences, width = board.score.shape
    found, rows, best = in_chunks(logits), len(logits), 2 * width
    sizes = {"BEST": best, "BEST_PAD": triton.next_power_of_2(best)}
    tops = torch.empty(rows, best, device=logits.device)
    words = torch.empty(rows, best, dtype=torch.int32, device=logits.device)
    _best_kernel[(rows,)](
        *found.tensors,
        logits.stride(0),
        tops,
        words,
        **found.sizes,
        **sizes,
        num_warps=4,
        **early(logits),
    )
    _beam_kernel[(sentences,)](
        tops,
        words,
        board.words,
        board.places,
        board.limits,
        board.live,
        board.score,
        board.parents,
        board.said,
        board.grew_from,
        board.ended_score,
        board.ended_length,
        board.ended_parent,
        board.origins,
        board.penalty,
        board.origins.stride(0),
        W=width,
        W_PAD=triton.next_power_of_2(width),
        ROOM=board.origins.shape[3],
        **sizes,
        BLOCK=64,
        num_warps=4,
        **early(logits),
    )
