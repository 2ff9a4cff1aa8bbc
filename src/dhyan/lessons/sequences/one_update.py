"""One step of gradient descent, followed through a single parameter."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.batch import Batch
from dhyan.errors import UserError
from dhyan.models.seq2seq import Seq2Seq

PARAMETER = "decoder.output.weight"
NUDGE = 1e-5


@dataclass(frozen=True)
class Update:
    """One parameter's part in one update: w ← w − η ∂L/∂w.

    `slope` is the gradient measured by moving the parameter a little both ways; `alone` is the loss
    when only this parameter has moved, `after` when all of them have.
    """

    name: str
    at: tuple[int, ...]
    value: float
    gradient: float
    slope: float
    moved: float
    before: float
    alone: float
    after: float
    rate: float


def one_update(
    model: Seq2Seq, batch: Batch, name: str, at: Sequence[int] | None, rate: float
) -> Update:
    """What one step of gradient descent would do; the model is left as it was."""
    weights = dict(model.named_parameters())
    if name not in weights:
        raise UserError(f"parameter: the model has no {name!r}; it has {', '.join(weights)}")
    before = _average(model, batch)
    gradients = torch.autograd.grad(before, list(weights.values()))
    moves = dict(zip(weights, gradients, strict=True))
    gradient = moves[name]
    place = _place(name, gradient, at)
    weight, own = weights[name], float(gradient[place])
    value = float(weight.detach()[place])

    @torch.no_grad()
    def moved_to(number: float) -> float:
        weight[place] = number
        found = float(_average(model, batch))
        weight[place] = value
        return found

    slope = (moved_to(value + NUDGE) - moved_to(value - NUDGE)) / (2 * NUDGE)
    alone = moved_to(value - rate * own)
    kept = {key: one.detach().clone() for key, one in weights.items()}
    with torch.no_grad():
        for key, one in weights.items():
            one.sub_(rate * moves[key])
        after = float(_average(model, batch))
        for key, one in weights.items():
            one.copy_(kept[key])
    moved = value - rate * own
    return Update(
        name,
        place,
        value,
        gradient=own,
        slope=slope,
        moved=moved,
        before=float(before.detach()),
        alone=alone,
        after=after,
        rate=rate,
    )


def _average(model: Seq2Seq, batch: Batch) -> Float64[Tensor, ""]:
    """The mean loss per word of a single pair."""
    chances = model(batch)[0].log_softmax(-1)
    return -chances.gather(1, batch.labels.ids[0].unsqueeze(1)).mean()


def _place(name: str, gradient: Tensor, at: Sequence[int] | None) -> tuple[int, ...]:
    if at is None:
        flat = int(gradient.abs().argmax())
        return tuple(int(one) for one in torch.unravel_index(torch.tensor(flat), gradient.shape))
    place = tuple(at) if isinstance(at, list | tuple) else (at,)
    sizes = tuple(gradient.shape)
    if len(place) != len(sizes) or not all(
        isinstance(one, int) and 0 <= one < size for one, size in zip(place, sizes, strict=False)
    ):
        raise UserError(
            f"at: {name} is {' × '.join(map(str, sizes))} and has no place {list(place)}"
        )
    return place
