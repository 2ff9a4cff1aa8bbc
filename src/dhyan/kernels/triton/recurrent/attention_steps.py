"""Triton: attention of a recurrent decoder, one launch per step; forward and backward pass.

Scores are additive (Bahdanau et al., 2015) or dot products (Luong et al., 2015). A program takes
one row; a row whose source is masked entirely gets a context of zeros.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Bool, Float
from torch import Tensor

from dhyan.kernels.triton.activations import tanh
from dhyan.kernels.triton.masked_softmax import softmax, softmax_backward
from dhyan.kernels.triton.recurrent.tiles import fast_tanh


@triton.jit
@no_type_check
def load_columns(
    table, memory_rows, real_positions, begin, WIDTH: tl.constexpr, INNER: tl.constexpr
):
    """Some columns of the keys or values of a row."""
    columns = begin + tl.arange(0, INNER)
    tile_mask = real_positions[:, None] & (columns < WIDTH)[None, :]
    return tl.load(table + memory_rows[:, None] * WIDTH + columns[None, :], tile_mask, 0.0)


@triton.jit
@no_type_check
def load_vector(start, columns, real_columns):
    """Some columns of a vector, in single precision."""
    return tl.load(start + columns, real_columns, 0.0).to(tl.float32)


@triton.jit(do_not_specialize=["step", "steps", "count"])
@no_type_check
def attend_step(
    query,  # B T A
    keys,  # B S A
    values,  # B S C
    mask,  # B S
    energy,  # A
    weights,  # B T S
    context,  # B T C
    scale,
    step,
    steps,
    count,
    ADDITIVE: tl.constexpr,
    WIDTH: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    FAST: tl.constexpr,
    POSITIONS: tl.constexpr,
    INNER: tl.constexpr,
):
    """The weights and the context of each row's query at a step."""
    row = tl.program_id(0).to(tl.int64)
    current = row * steps + step
    positions = tl.arange(0, POSITIONS)
    real_positions = positions < count
    unmasked = tl.load(mask + row * count + positions, real_positions, 0) != 0
    memory_rows = row * count + positions
    # The first values load while the scores are computed.
    value = load_columns(values, memory_rows, real_positions, 0, VALUE_WIDTH, INNER)
    partial = tl.zeros([POSITIONS, INNER], tl.float32)
    for begin in range(0, WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        real_columns = columns < WIDTH
        key = load_columns(keys, memory_rows, real_positions, begin, WIDTH, INNER).to(tl.float32)
        query_tile = load_vector(query + current * WIDTH, columns, real_columns)
        if ADDITIVE:
            energy_tile = load_vector(energy, columns, real_columns)
            partial += tanh(query_tile[None, :] + key, FAST) * energy_tile[None, :]
        else:
            partial += query_tile[None, :] * key
    weight = softmax(tl.sum(partial, 1) * scale, unmasked, 0, 0)
    tl.store(
        weights + current * count + positions, weight.to(weights.dtype.element_ty), real_positions
    )
    for begin in range(0, VALUE_WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        context_tile = tl.sum(weight[:, None] * value.to(tl.float32), 0).to(
            context.dtype.element_ty
        )
        tl.store(context + current * VALUE_WIDTH + columns, context_tile, columns < VALUE_WIDTH)
        if begin + INNER < VALUE_WIDTH:
            value = load_columns(
                values, memory_rows, real_positions, begin + INNER, VALUE_WIDTH, INNER
            )


@triton.jit(do_not_specialize=["step", "steps", "count"])
@no_type_check
def attend_step_backward(
    query,  # B T A
    keys,  # B S A
    values,  # B S C
    energy,  # A
    weights,  # B T S
    dcontext,  # B T C, or wider
    dscores,  # B T S
    dquery,  # B T A
    scale,
    step,
    steps,
    count,
    ADDITIVE: tl.constexpr,
    WIDTH: tl.constexpr,
    VALUE_WIDTH: tl.constexpr,
    STRIDE: tl.constexpr,
    FAST: tl.constexpr,
    POSITIONS: tl.constexpr,
    INNER: tl.constexpr,
):
    """From the context's gradient to those of the scores, which are stored, and of the query."""
    row = tl.program_id(0).to(tl.int64)
    current = row * steps + step
    positions = tl.arange(0, POSITIONS)
    real_positions = positions < count
    memory_rows = row * count + positions
    key = load_columns(keys, memory_rows, real_positions, 0, WIDTH, INNER)
    weight = tl.load(weights + current * count + positions, real_positions, 0.0).to(tl.float32)
    partial = tl.zeros([POSITIONS, INNER], tl.float32)
    for begin in range(0, VALUE_WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        value = load_columns(values, memory_rows, real_positions, begin, VALUE_WIDTH, INNER).to(
            tl.float32
        )
        grad_tile = load_vector(dcontext + current * STRIDE, columns, columns < VALUE_WIDTH)
        partial += grad_tile[None, :] * value
    dweight = tl.sum(partial, 1)
    dscore = softmax_backward(weight, dweight, 0) * scale
    tl.store(
        dscores + current * count + positions, dscore.to(dscores.dtype.element_ty), real_positions
    )
    for begin in range(0, WIDTH, INNER):
        columns = begin + tl.arange(0, INNER)
        real_columns = columns < WIDTH
        if ADDITIVE:
            query_tile = load_vector(query + current * WIDTH, columns, real_columns)
            energy_tile = load_vector(energy, columns, real_columns)
            tanh_tile = tanh(query_tile[None, :] + key.to(tl.float32), FAST)
            query_grad = tl.sum(dscore[:, None] * (1.0 - tanh_tile * tanh_tile), 0) * energy_tile
        else:
            query_grad = tl.sum(dscore[:, None] * key.to(tl.float32), 0)
        tl.store(
            dquery + current * WIDTH + columns, query_grad.to(dquery.dtype.element_ty), real_columns
        )
        if begin + INNER < WIDTH:
            key = load_columns(keys, memory_rows, real_positions, begin + INNER, WIDTH, INNER)


@triton.jit(do_not_specialize=["steps", "count"])
@no_type_check
def keys_backward(
    query,  # B T A
    keys,  # B S A
    energy,  # A
    dscores,  # B T S
    dkeys,  # B S A
    denergy,  # B (parts of S) A: to be summed
    steps,
    count,
    WIDTH: tl.constexpr,
    FAST: tl.constexpr,
    POSITIONS: tl.constexpr,
    INNER: tl.constexpr,
):
    """The gradients of keys and energy from those of additive scores, over all steps of a row."""
    row = tl.program_id(0).to(tl.int64)
    positions = tl.program_id(2) * POSITIONS + tl.arange(0, POSITIONS)
    columns = tl.program_id(1) * INNER + tl.arange(0, INNER)
    real_positions, real_columns = positions < count, columns < WIDTH
    offsets = (row * count + positions)[:, None] * WIDTH + columns[None, :]
    tile_mask = real_positions[:, None] & real_columns[None, :]
    key = tl.load(keys + offsets, tile_mask, 0.0).to(tl.float32)
    energy_tile = load_vector(energy, columns, real_columns)
    dkey = tl.zeros([POSITIONS, INNER], tl.float32)
    partial = tl.zeros([POSITIONS, INNER], tl.float32)
    for step in range(steps):
        current = row * steps + step
        query_tile = load_vector(query + current * WIDTH, columns, real_columns)
        dscore = tl.load(dscores + current * count + positions, real_positions, 0.0).to(tl.float32)
        tanh_tile = tanh(query_tile[None, :] + key, FAST)
        dkey += dscore[:, None] * (1.0 - tanh_tile * tanh_tile)
        partial += dscore[:, None] * tanh_tile
    tl.store(dkeys + offsets, (dkey * energy_tile[None, :]).to(dkeys.dtype.element_ty), tile_mask)
    part = row * tl.num_programs(2) + tl.program_id(2)
    tl.store(denergy + part * WIDTH + columns, tl.sum(partial, 0), real_columns)


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
            **self.launch_options(),
        )

    def launch_options(self) -> dict[str, Any]:
        """The sizes that both directions share."""
        count, width = self.keys.shape[1:]
        return {
            "ADDITIVE": self.energy is not None,
            "WIDTH": width,
            "FAST": fast_tanh(self.keys),
            **attention_tile(count, max(width, self.values.shape[-1])),
        }


@dataclass(frozen=True)
class AttentionBackwardSteps:
    """The backward pass: the gradients of all steps' contexts, scores and queries."""

    forward: AttentionSteps
    dcontexts: Float[Tensor, "B T C"]
    dscores: Float[Tensor, "B T S"]
    dquery: Float[Tensor, "B T A"]

    @classmethod
    def start(
        cls, forward: AttentionSteps, dcontexts: Float[Tensor, "B T C"]
    ) -> "AttentionBackwardSteps":
        """Before the last step; `dcontexts` is written until then."""
        dscores = torch.empty_like(forward.weights, dtype=torch.float32)
        return cls(forward, dcontexts, dscores, torch.empty_like(forward.query))

    def step(self, step: int) -> None:
        """From the gradient of a step's context to those of its scores and its query."""
        forward = self.forward
        attend_step_backward[(len(forward.query),)](
            forward.query,
            forward.keys,
            forward.values,
            forward.energy,
            forward.weights,
            self.dcontexts,
            self.dscores,
            self.dquery,
            forward.scale,
            step,
            *forward.weights.shape[1:],
            VALUE_WIDTH=forward.values.shape[-1],
            STRIDE=self.dcontexts.stride(1),
            **forward.launch_options(),
        )

    def gradients(self) -> tuple[Tensor | None, ...]:
        """The gradients of the six operands, from those of all steps."""
        forward, dquery_weight = self.forward, None
        if forward.query_weight is not None:
            dquery_weight = self.dquery.flatten(0, 1).t() @ forward.states.flatten(0, 1)
        dvalues = torch.bmm(forward.weights.transpose(1, 2), self.dcontexts)
        if forward.energy is None:
            dkeys = torch.bmm(self.dscores.to(forward.query.dtype).transpose(1, 2), forward.query)
            return dquery_weight, dkeys, dvalues, None, None, None
        dkeys, denergy = self._additive_gradients(forward.energy)
        return dquery_weight, dkeys, dvalues, None, denergy, None

    def _additive_gradients(
        self, energy: Float[Tensor, " A"]
    ) -> tuple[Float[Tensor, "B S A"], Float[Tensor, " A"]]:
        query, keys = self.forward.query, self.forward.keys
        dkeys = torch.empty_like(keys)
        batch, count, width = keys.shape
        positions = min(32, triton.next_power_of_2(count))
        inner = min(64, max(16, triton.next_power_of_2(width)))
        parts = triton.cdiv(count, positions)
        denergy = query.new_empty(batch * parts, width, dtype=torch.float32)
        keys_backward[(batch, triton.cdiv(width, inner), parts)](
            query,
            keys,
            energy,
            self.dscores,
            dkeys,
            denergy,
            *self.dscores.shape[1:],
            WIDTH=width,
            FAST=fast_tanh(query),
            POSITIONS=positions,
            INNER=inner,
        )
        return dkeys, denergy.sum(dim=0).to(energy.dtype)
