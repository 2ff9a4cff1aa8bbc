"""What the decoder is told in training: the correct word before, or the one it said itself."""

from collections.abc import Callable
from math import exp

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dhyan.batch import Batch
from dhyan.models.seq2seq import Seq2Seq

ForcingSchedule = Callable[[int], float]


def constant(*, ratio: float = 1.0) -> ForcingSchedule:
    """The same chance at every step; 1 is plain teacher forcing."""
    return lambda step: ratio


def linear(*, ratio: float, slope: float, least: float) -> ForcingSchedule:
    """Down in a straight line from `ratio`, max(ε, k − c·i) (Bengio et al., 2015)."""
    return lambda step: max(least, ratio - slope * step)


def exponential(*, k: float) -> ForcingSchedule:
    """Down as k^i, with k below 1 (Bengio et al., 2015)."""
    return lambda step: k**step


def inverse_sigmoid(*, k: float) -> ForcingSchedule:
    """Down as k / (k + exp(i / k)), with k of 1 or more (Bengio et al., 2015).

    Divided through by exp(i / k), so that no step is too late for it.
    """

    def ratio(step: int) -> float:
        shrunk = k * exp(-step / k)
        return shrunk / (shrunk + 1)

    return ratio


def is_teacher_forcing(ratio: float | Float[Tensor, ""]) -> bool:
    """Whether every word is told; a ratio on the device is not looked at, and taken for less."""
    return not isinstance(ratio, Tensor) and ratio >= 1


def decode_with_forcing(
    model: Seq2Seq, batch: Batch, ratio: float | Float[Tensor, ""], *, passes: int = 1
) -> Float[Tensor, "B T V"]:
    """The logits when each word before is the correct one with this chance, else the model's own.

    A coin is thrown for every word of every sentence (scheduled sampling; Bengio et al., 2015).
    A batch that holds the same sentences in several `passes` has the same coins in each. With a
    ratio of 1 there is nothing to wait for, and all places are computed at once.
    """
    if is_teacher_forcing(ratio):
        return model(batch)
    ids = batch.inputs.ids
    coins = torch.rand(len(ids) // passes, ids.shape[1], device=ids.device) < ratio
    return decode_stepwise(model, batch, coins.repeat(passes, 1))


def decode_stepwise(
    model: Seq2Seq, batch: Batch, told: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T V"]:
    """The logits word by word; where the model is not told a word, it goes on from its likeliest.

    The first word is always told: it is the beginning of the sentence.
    """
    ids, state = batch.inputs.ids, model.start(batch.source)
    word, said = ids[:, 0], list[Tensor]()
    for place in range(ids.shape[1]):
        if place:
            word = torch.where(told[:, place], ids[:, place], said[-1].argmax(dim=-1))
        logits, state = model.step(word, state)
        said.append(logits)
    return torch.stack(said, dim=1)
