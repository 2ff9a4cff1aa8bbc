"""A decoder's state as a list of named tensors, and back: for graphs that take and return tensors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from dhyan.attention import Memory


@dataclass(frozen=True)
class TensorState:
    """The tensors of a state by name, each with a row for every hypothesis, as search needs it.

    `scalars` are those that all rows share, such as the number of steps.
    """

    tensors: Mapping[str, Tensor]
    scalars: frozenset[str] = frozenset()

    def select(self, rows: Int[Tensor, " R"]) -> "TensorState":
        """The state of other rows: repeat, drop or reorder hypotheses."""
        return replace(
            self,
            tensors={
                name: tensor if name in self.scalars else tensor[rows]
                for name, tensor in self.tensors.items()
            },
        )


def named_tensors(state: Any, *, with_steps: bool) -> dict[str, Tensor]:
    """The tensors in the fields of a state, named by their places; counts of steps as tensors."""
    return dict(_walk(state, (), with_steps))


def with_tensors(state: Any, tensors: Sequence[Tensor], *, with_steps: bool) -> Any:
    """A state of the same form with these tensors, in the order of `named_tensors`."""
    return _filled(state, iter(tensors), with_steps)


def with_zeros(state: Any, later: Any) -> Any:
    """A first state in which coverage and last weights are zeros, where a later one has them.

    An attention that has seen no query yet has none of them, which is the same.
    """
    if isinstance(state, tuple):
        pairs = zip(state, later, strict=True)
        return tuple(with_zeros(part, later_part) for part, later_part in pairs)
    if isinstance(state, Memory):
        rows, positions = state.mask.shape
        zeros = {
            name: weights.new_zeros(rows, weights.shape[1], positions)
            for name in ("coverage", "last_weights")
            if getattr(state, name) is None and (weights := getattr(later, name)) is not None
        }
        return replace(state, **zeros)
    if is_dataclass(state) and not isinstance(state, type):
        parts = {
            field.name: with_zeros(getattr(state, field.name), getattr(later, field.name))
            for field in fields(state)
        }
        return replace(state, **parts)
    return state


def _walk(value: Any, place: tuple[str, ...], with_steps: bool) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield ".".join(place), value
    elif isinstance(value, int) and with_steps:
        yield ".".join(place), torch.tensor(value)
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from _walk(part, (*place, str(number)), with_steps)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _walk(getattr(value, field.name), (*place, field.name), with_steps)


def _filled(value: Any, tensors: Iterator[Tensor], with_steps: bool) -> Any:
    if isinstance(value, Tensor) or (isinstance(value, int) and with_steps):
        return next(tensors)
    if isinstance(value, tuple):
        return tuple(_filled(part, tensors, with_steps) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value,
            **{
                field.name: _filled(getattr(value, field.name), tensors, with_steps)
                for field in fields(value)
            },
        )
    return value
