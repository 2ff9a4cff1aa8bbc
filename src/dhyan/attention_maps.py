"""Watching attention without the model knowing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from dhyan.attention import Attended, Attention
from dhyan.kernels.backend import by_definition


@dataclass(frozen=True)
class AttentionMap:
    """One attention's weights over a sentence: a row per word that asks, a column per word seen."""

    where: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Float[Tensor, "H T S"]


@dataclass(frozen=True)
class Sightings:
    """The weights of every attention called so far, by the name of its module."""

    calls: dict[str, list[Tensor]] = field(default_factory=dict)

    def weights(self) -> dict[str, Float[Tensor, "B H T S"]]:
        """Each attention's weights, its calls joined in order: a decoder may look step by step.

        What an earlier call could not see yet has weight zero in its rows.
        """
        return {where: _joined(seen) for where, seen in self.calls.items()}


_watching: ContextVar[tuple[Sightings, ...]] = ContextVar("watching", default=())


@contextmanager
def watch(model: nn.Module) -> Iterator[Sightings]:
    """Collect the weights of every attention of the model that is called inside the block.

    Inside it attention is computed by its definition, so that there are weights to see. Calls
    from other threads are neither slowed nor seen.
    """
    sightings = Sightings()
    before = _watching.set((*_watching.get(), sightings))
    with ExitStack() as undo:
        undo.callback(_watching.reset, before)
        undo.enter_context(by_definition())
        for name, module in model.named_modules():
            listen = module.register_forward_hook
            if isinstance(module, Attention):
                undo.callback(listen(_note(name, sightings)).remove)
        yield sightings


def _note(name: str, sightings: Sightings) -> Callable[[nn.Module, object, Attended], None]:
    def hook(module: nn.Module, inputs: object, attended: Attended) -> None:
        here = any(one is sightings for one in _watching.get())
        if here and attended.weights is not None:
            sightings.calls.setdefault(name, []).append(attended.weights)

    return hook


def _joined(calls: Sequence[Float[Tensor, "B H _ _"]]) -> Float[Tensor, "B H T S"]:
    widest = max(weights.shape[-1] for weights in calls)
    wide = [functional.pad(weights, (0, widest - weights.shape[-1])) for weights in calls]
    return torch.cat(wide, dim=2)
