"""Teacher forcing and scheduled sampling (Bengio et al., 2015).

The ratio is the paper's ε_i: the probability of feeding the reference token at step i.
"""

from collections.abc import Callable
from math import exp

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dhyan.batch import Batch
from dhyan.models.seq2seq import Seq2Seq

ForcingSchedule = Callable[[int], float | Float[Tensor, ""]]
"""From a step to its ratio, which captured CUDA graphs read from the device."""


def constant_ratio(*, ratio: float | Float[Tensor, ""] = 1.0) -> ForcingSchedule:
    """The same ratio at every step; 1 is teacher forcing."""
    return lambda step: ratio


def linear(*, k: float, slope: float, least: float) -> ForcingSchedule:
    """Linear decay, max(ε, k − c·i) with c = `slope` and ε = `least`."""
    return lambda step: max(least, k - slope * step)


def exponential(*, k: float) -> ForcingSchedule:
    """Exponential decay, k^i with k below 1."""
    return lambda step: k**step


def inverse_sigmoid(*, k: float) -> ForcingSchedule:
    """Inverse sigmoid decay, k / (k + exp(i / k)) with k of 1 or more.

    Both sides are divided by exp(i / k), which would overflow at a late step.
    """

    def ratio(step: int) -> float:
        shrunk = k * exp(-step / k)
        return shrunk / (shrunk + 1)

    return ratio


def is_teacher_forcing(ratio: float | Float[Tensor, ""]) -> bool:
    """Whether every input is the reference token.

    A ratio on the device is not read, which would wait for it, and counts as less than 1.
    """
    return not isinstance(ratio, Tensor) and ratio >= 1


def decode_with_forcing(
    model: Seq2Seq, batch: Batch, ratio: float | Float[Tensor, ""], *, passes: int = 1
) -> Float[Tensor, "B T V"]:
    """Logits when each input is the reference token with this probability, else the predicted one.

    The choice is drawn for every token of every sentence. A batch that holds the same sentences in
    several `passes` has the same choices in each. With a ratio of 1 all positions are computed at
    once.
    """
    if is_teacher_forcing(ratio):
        return model(batch)
    ids = batch.inputs.ids
    forced = torch.rand(len(ids) // passes, ids.shape[1], device=ids.device) < ratio
    return decode_stepwise(model, batch, forced.repeat(passes, 1))


def decode_stepwise(
    model: Seq2Seq, batch: Batch, forced: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T V"]:
    """Logits token by token; where it is not `forced`, the input is the most likely token before.

    The first input is always the reference: the beginning of the sentence.
    """
    ids, state = batch.inputs.ids, model.start(batch.source)
    token_ids, outputs = ids[:, 0], list[Tensor]()
    for position in range(ids.shape[1]):
        if position:
            predicted = outputs[-1].argmax(dim=-1)
            token_ids = torch.where(forced[:, position], ids[:, position], predicted)
        logits, state = model.step(token_ids, state)
        outputs.append(logits)
    return torch.stack(outputs, dim=1)
