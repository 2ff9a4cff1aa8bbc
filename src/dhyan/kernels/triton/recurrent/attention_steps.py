"""The attention of a recurrent decoder over all its steps, forwards and backwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import triton
from jaxtyping import Bool, Float
from torch import Tensor

from dhyan.kernels.triton.recurrent.attention_step import (
    attend_step,
    attend_step_backward,
    keys_backward,
)
from dhyan.kernels.triton.recurrent.rnn_layer import fast_tanh


def attention_tile(count: int, width: int) -> dict[str, int]:
    """How many positions and columns a step takes at a time; a thread has 64 elements of them."""
    positions = max(16, triton.next_power_of_2(count))
    inner = min(triton.next_power_of_2(width), max(8, 16384 // positions))
    warps = max(1, min(8, positions * inner // 2048))
    return {"POSITIONS": positions, "INNER": inner, "num_warps": warps}


@dataclass(frozen=True)
class AttentionSteps:
    """Single-head attention from a state per step to a source, with what its steps compute.

    Scores are additive if there is an energy, else dot products. The query of a step is a state,
    by `query_weight` if there is one.
    """

    query_weight: Float[Tensor, "A D"] | None
    keys: Float[Tensor, "B S A"]
    values: Float[Tensor, "B S C"]
    mask: Bool[Tensor, "B S"]
    energy: Float[Tensor, " A"] | None
    scale: float
    states: Float[Tensor, "B T D"]
    query: Float[Tensor, "B T A"]
    weights: Float[Tensor, "B T S"]
    contexts: Float[Tensor, "B T C"]

    @classmethod
    def allocate(
        cls,
        operands: tuple[Any, ...],
        states: Float[Tensor, "B T D"],
        contexts: Float[Tensor, "B T C"],
    ) -> "AttentionSteps":
        """Before the first step; `operands` are the first six fields."""
        query_weight, keys, values, mask, energy, scale = operands
        batch, steps = states.shape[:2]
        query = states
        if query_weight is not None:
            query = states.new_empty(batch, steps, len(query_weight))
        weights = values.new_empty(batch, steps, mask.shape[1])
        return cls(
            query_weight, keys, values, mask, energy, scale, states, query, weights, contexts
        )

    @property
    def saved(self) -> tuple[Tensor | None, ...]:
        """What `restore` needs in the backward pass, except the states and the scale."""
        return (
            *(self.query_weight, self.keys, self.values, self.mask, self.energy),
            *(self.query, self.weights, self.contexts),
        )

    @classmethod
    def restore(
        cls, saved: Sequence[Any], scale: float, states: Float[Tensor, "B T D"]
    ) -> "AttentionSteps":
        """The same in the backward pass; without a query weight the states are the queries."""
        query_weight, keys, values, mask, energy, query, weights, contexts = saved
        return cls(
            query_weight, keys, values, mask, energy, scale, states, query, weights, contexts
        )

    def step(self, step: int) -> None:
        """The query, weights and context of a step, whose state is known."""
        if self.query_weight is not None:
            torch.mm(self.states[:, step], self.query_weight.t(), out=self.query[:, step])
        attend_step[(len(self.query),)](
            self.query,
            self.keys,
            self.values,
            self.mask,
            self.energy,
            self.weights,
            self.contexts,
            self.scale,
            step,
            *self.weights.shape[1:],
            VALUE_WIDTH=self.values.shape[-1],
            **self._launch_options(),
        )

    def step_backward(
        self,
        dcontexts: Float[Tensor, "B T C"],
        dscores: Float[Tensor, "B T S"],
        dquery: Float[Tensor, "B T A"],
        step: int,
    ) -> None:
        """From the gradient of a step's context to those of its scores and its query."""
        attend_step_backward[(len(self.query),)](
            self.query,
            self.keys,
            self.values,
            self.energy,
            self.weights,
            dcontexts,
            dscores,
            dquery,
            self.scale,
            step,
            *self.weights.shape[1:],
            VALUE_WIDTH=self.values.shape[-1],
            STRIDE=dcontexts.stride(1),
            **self._launch_options(),
        )

    def gradients(
        self,
        dcontexts: Float[Tensor, "B T C"],
        dscores: Float[Tensor, "B T S"],
        dquery: Float[Tensor, "B T A"],
    ) -> tuple[Tensor | None, ...]:
        """The gradients of the six operands from those of all steps."""
        dquery_weight = None
        if self.query_weight is not None:
            dquery_weight = dquery.flatten(0, 1).t() @ self.states.flatten(0, 1)
        dvalues = torch.bmm(self.weights.transpose(1, 2), dcontexts)
        if self.energy is None:
            dkeys = torch.bmm(dscores.to(self.query.dtype).transpose(1, 2), self.query)
            return dquery_weight, dkeys, dvalues, None, None, None
        dkeys, denergy = self._additive_gradients(dscores, self.energy)
        return dquery_weight, dkeys, dvalues, None, denergy, None

    def _additive_gradients(
        self, dscores: Float[Tensor, "B T S"], energy: Float[Tensor, " A"]
    ) -> tuple[Float[Tensor, "B S A"], Float[Tensor, " A"]]:
        dkeys = torch.empty_like(self.keys)
        batch, count, width = self.keys.shape
        positions = min(32, triton.next_power_of_2(count))
        inner = min(64, max(16, triton.next_power_of_2(width)))
        parts = triton.cdiv(count, positions)
        denergy = self.query.new_empty(batch * parts, width, dtype=torch.float32)
        keys_backward[(batch, triton.cdiv(width, inner), parts)](
            self.query,
            self.keys,
            energy,
            dscores,
            dkeys,
            denergy,
            *dscores.shape[1:],
            WIDTH=width,
            FAST=fast_tanh(self.query),
            POSITIONS=positions,
            INNER=inner,
        )
        return dkeys, denergy.sum(dim=0).to(energy.dtype)

    def _launch_options(self) -> dict[str, Any]:
        count, width = self.keys.shape[1:]
        return {
            "ADDITIVE": self.energy is not None,
            "WIDTH": width,
            "FAST": fast_tanh(self.keys),
            **attention_tile(count, max(width, self.values.shape[-1])),
        }
