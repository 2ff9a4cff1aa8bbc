"""The loops of recurrent decoders by the kernels, where these know the attention."""

from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from dhyan.attention import (
    AdditiveScore,
    Attention,
    DotScore,
    GeneralScore,
    Memory,
    Score,
    SingleHeadAttention,
    everything,
)
from dhyan.models.fused_rnn import CELLS, Blocks, begun, ended, own_kind, runs, working_kind
from dhyan.models.recurrent_layers import Recurrence

LONGEST = 2048  # places a look may see: a kernel holds all their scores at once


def looped(
    attention: Attention, recurrence: Recurrence, memory: Memory, words: Float[Tensor, "B T W"]
) -> TypeGuard[SingleHeadAttention]:
    """Whether the kernels know this loop, and it is worth their preparations.

    They know one layer, and one head that sees all that is real by a score without a memory of
    its own, and leaves out no weights.
    """
    return (
        words.shape[1] > 1
        and runs(recurrence.rnn, words)
        and recurrence.rnn.num_layers == 1
        and isinstance(attention, SingleHeadAttention)
        and type(attention.score) in (AdditiveScore, DotScore, GeneralScore)
        and attention.sees is everything
        and attention.fuse
        and not (attention.training and attention.dropout)
        and memory.mask.shape[1] <= LONGEST
    )


def look_then_step(
    recurrence: Recurrence,
    attention: SingleHeadAttention,
    words: Float[Tensor, "B T W"],
    hidden: Float[Tensor, "B P 1 D"],
    memory: Memory,
) -> tuple[Float[Tensor, "B T K"], Float[Tensor, "B P 1 D"]]:
    """Each state with the word and the context it was told, and the last state."""
    from dhyan.kernels.triton.recurrent.bahdanau_decoder import LookThenStep

    rnn = recurrence.rnn
    cell, kind = CELLS[rnn.mode], working_kind(rnn, words)
    with torch.autocast(words.device.type, enabled=False):
        words, weights = words.to(kind), Blocks.of(rnn, 0, kind)
        of_words, of_contexts = _parted(weights, words)
        given = functional.linear(words, of_words, weights.bias[0]).unsqueeze(2)
        states, contexts, *end = LookThenStep.apply(
            given,
            weights.state,
            *begun(hidden, 0, kind),
            of_contexts,
            *_asked(attention.score, memory, kind),
            cell,
        )
        known = torch.cat([states.squeeze(2), words, contexts], dim=-1)
        return known, ended(*end, cell=cell, kind=own_kind(rnn))


def step_then_look(
    recurrence: Recurrence,
    attention: SingleHeadAttention,
    combine: nn.Linear,
    words: Float[Tensor, "B T W"],
    *,
    hidden: Float[Tensor, "B P 1 D"],
    fed: Float[Tensor, "B 1 D"],
    memory: Memory,
) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B P 1 D"]]:
    """The attentional vector of each step, which the next is fed, and the last state."""
    from dhyan.kernels.triton.recurrent.luong_decoder import StepThenLook

    rnn = recurrence.rnn
    cell, kind = CELLS[rnn.mode], working_kind(rnn, words)
    with torch.autocast(words.device.type, enabled=False):
        words, weights = words.to(kind), Blocks.of(rnn, 0, kind)
        of_words, of_fed = _parted(weights, words)
        given = functional.linear(words, of_words, weights.bias[0]).unsqueeze(2)
        blended, *end = StepThenLook.apply(
            given,
            weights.state,
            *begun(hidden, 0, kind),
            fed.to(kind),
            of_fed,
            combine.weight.to(kind),
            combine.bias.to(kind),
            *_asked(attention.score, memory, kind),
            cell,
        )
        return blended, ended(*end, cell=cell, kind=own_kind(rnn))


def _parted(weights: Blocks, words: Float[Tensor, "B T W"]) -> tuple[Tensor, Tensor]:
    """The weights of the words, all known beforehand, and those of what each step finds out."""
    width = words.shape[-1]
    return weights.inputs[0, :, :width], weights.inputs[0, :, width:].contiguous()


Asked = tuple[Tensor | None, Tensor, Tensor, Tensor, Tensor | None, float]
"""How a state becomes a query; keys, values and mask; an additive score's energy; a scale."""


def _asked(score: Score, memory: Memory, kind: torch.dtype) -> Asked:
    """What a score and a memory are to the kernels; a query's bias may as well be the keys'."""
    keys, values = (part.squeeze(1).to(kind) for part in (memory.keys, memory.values))
    mask = memory.mask.contiguous()
    match score:
        case AdditiveScore():
            keys = keys + score.query.bias.to(kind)
            weight, energy = score.query.weight.to(kind), score.energy
            return weight, keys.contiguous(), values.contiguous(), mask, energy, 1.0
        case DotScore(scaled=True):
            scale = keys.shape[-1] ** -0.5
        case _:
            scale = 1.0
    return None, keys.contiguous(), values.contiguous(), mask, None, scale
