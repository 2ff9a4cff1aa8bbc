"""Recurrent layers in one kernel a step, without packing: every row ends where it ends."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import triton
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from dhyan.kernels.triton.recurrent.rnn_cells import advance, retreat

USED = {"lstm": 4, "gru": 3, "rnn": 1}
"""How many of a cell's blocks, from the first, its inputs take part in."""


class Tile(NamedTuple):
    """How much of a product one program computes, and with what."""

    rows: int
    columns: int
    inner: int
    warps: int
    stages: int

    def grid(self, batch: int, width: int, sides: int = 1) -> tuple[int, int, int]:
        """How many programs there are."""
        return triton.cdiv(batch, self.rows), triton.cdiv(width, self.columns), sides

    def settings(self) -> dict[str, Any]:
        """As a kernel takes it."""
        return {
            "ROWS": self.rows,
            "COLUMNS": self.columns,
            "INNER": self.inner,
            "num_warps": self.warps,
            "num_stages": self.stages,
        }


def four_products(batch: int, kind: torch.dtype) -> Tile:
    """For a step forward, whose programs make a tile of every block."""
    if kind == torch.float32:
        return Tile(64, 16 if batch <= 512 else 32, 32, 4, 3)
    if batch <= 32:
        return Tile(16, 16, 128, 4, 3)
    return Tile(64, 16, 64, 4, 4) if batch <= 512 else Tile(128, 64, 64, 8, 3)


def one_product(batch: int, kind: torch.dtype) -> Tile:
    """For a step back, whose product is long."""
    if kind == torch.float32:
        return Tile(32, 32, 32, 4, 3) if batch <= 512 else Tile(64, 64, 32, 4, 3)
    if batch <= 32:
        return Tile(16, 16, 128, 4, 4)
    return Tile(64, 16, 128, 4, 4) if batch <= 512 else Tile(128, 64, 64, 8, 4)


def fast(numbers: Tensor) -> bool:
    """Whether tanh may be the GPU's own, whose error is about that of half precision."""
    return numbers.is_cuda and numbers.dtype != torch.float32


def precision(numbers: Tensor, exact: str = "ieee") -> str:
    """How a kernel multiplies single precision: exactly, unless PyTorch was told otherwise.

    Three products in TF32 ("tf32x3") are as exact to six digits; of four tiles at once they are
    five times as fast, of one they are slower.
    """
    highest = torch.get_float32_matmul_precision() == "highest"
    return exact if numbers.dtype == torch.float32 and highest else "tf32"


@dataclass(frozen=True)
class Reading:
    """A layer under way, in one direction or both, over rows that may end early.

    `given` is what inputs known beforehand give to the gates; with `told`, a row of it joins them
    at each step. `before` has the state before each place was read.
    """

    cell: str
    given: Float[Tensor, "B T N G"]
    weight: Float[Tensor, "N G D"]
    before: Float[Tensor, "B T N D"]
    carries: Float[Tensor, "T1 B N D"]
    gates: Float[Tensor, "B T N G"]
    out: Float[Tensor, "B T N D"]
    last: Float[Tensor, "B N D"]
    lengths: Int[Tensor, " B"] | None = None
    flipped: bool = False
    told: Float[Tensor, "B T I"] | None = None
    told_weight: Float[Tensor, "G I"] | None = None

    @classmethod
    def begin(
        cls,
        cell: str,
        given: Float[Tensor, "B T N G"],
        weight: Float[Tensor, "N G D"],
        first: Float[Tensor, "B N D"] | None,
        carry: Float[Tensor, "B N D"] | None,
        **more: Any,
    ) -> "Reading":
        """Before the first place: from a state, or from zeros; only those may end early."""
        batch, steps, sides, _ = given.shape
        width = weight.shape[-1]
        if first is None or carry is None:
            before = given.new_zeros(batch, steps, sides, width)
        else:
            before = given.new_empty(batch, steps, sides, width)
            before[:, 0] = first
        carries = before.new_empty(steps + 1, batch, sides, width, dtype=torch.float32)
        carries[0] = 0.0 if carry is None else carry
        out, last = torch.empty_like(before), before.new_empty(batch, sides, width)
        gates = torch.empty_like(given)
        return cls(cell, given, weight, before, carries, gates, out, last, **more)

    def step(self, step: int) -> None:
        """Read the place that each row reads at this step."""
        batch, steps, sides, width = self.before.shape
        tile = four_products(batch, self.given.dtype)
        advance[tile.grid(batch, width, sides)](
            self.given,
            self.told,
            self.told_weight,
            self.weight,
            self.before,
            self.carries,
            self.gates,
            self.out,
            self.last,
            self.lengths,
            step,
            steps,
            batch,
            CELL=self.cell,
            SIDES=sides,
            WIDTH=width,
            TOLD=0 if self.told is None else self.told.shape[-1],
            RAGGED=self.lengths is not None,
            FLIPPED=int(self.flipped),
            FAST=fast(self.given),
            PRECISION=precision(self.given, exact="tf32x3"),
            **tile.settings(),
        )


@dataclass(frozen=True)
class Returning:
    """The way back through a layer: `dgates` is what it owes to `given`.

    With `dquery`, the state of a step also became the query of the step `ahead` of it, as it is or
    by `query_weight`.
    """

    cell: str
    weight: Float[Tensor, "N G D"]
    carries: Float[Tensor, "T1 B N D"]
    gates: Float[Tensor, "B T N G"]
    dout: Float[Tensor, "B T N E"]
    dlast: Float[Tensor, "B N D"]
    dcarry: Float[Tensor, "B N D"]
    dgates: Float[Tensor, "B T N G"]
    lengths: Int[Tensor, " B"] | None = None
    flipped: bool = False
    dquery: Float[Tensor, "B T A"] | None = None
    query_weight: Float[Tensor, "A D"] | None = None
    ahead: int = 0

    def step(self, step: int) -> None:
        """What is owed to the gates at a step; those of the next are known."""
        batch, steps, sides, _ = self.gates.shape
        width = self.weight.shape[-1]
        tile = one_product(batch, self.gates.dtype)
        query = -1 if self.query_weight is None else self.query_weight.shape[0]
        retreat[tile.grid(batch, width, sides)](
            self.dgates,
            self.weight,
            self.dquery,
            self.query_weight,
            self.dout,
            self.dlast,
            self.dcarry,
            self.gates,
            self.carries,
            self.lengths,
            step,
            steps,
            batch,
            step + self.ahead,
            CELL=self.cell,
            SIDES=sides,
            WIDTH=width,
            QUERY=0 if self.dquery is None else query,
            OUT_STRIDE=self.dout.stride(1) // sides,
            RAGGED=self.lengths is not None,
            FLIPPED=int(self.flipped),
            FAST=fast(self.gates),
            PRECISION=precision(self.gates),
            **tile.settings(),
        )

    def to_weight(self, before: Float[Tensor, "B T N D"]) -> Float[Tensor, "N G D"]:
        """What all steps together owe to the state's weights."""
        pairs = self.dgates.flatten(0, 1).permute(1, 2, 0)
        return torch.bmm(pairs, before.flatten(0, 1).transpose(0, 1))

    def to_first(self) -> Float[Tensor, "B N D"]:
        """What is owed to the state before the first step, as the first step saw it."""
        return torch.bmm(self.dgates[:, 0].transpose(0, 1), self.weight).transpose(0, 1)


class Layer(torch.autograd.Function):
    """A layer over all places of all rows."""

    @staticmethod
    def forward(
        ctx: Any,
        given: Float[Tensor, "B T N G"],
        weight: Float[Tensor, "N G D"],
        first: Float[Tensor, "B N D"] | None,
        carry: Float[Tensor, "B N D"] | None,
        lengths: Int[Tensor, " B"] | None,
        cell: str,
        flipped: bool,
    ) -> tuple[Float[Tensor, "B T N D"], Float[Tensor, "B N D"], Float[Tensor, "B N D"]]:
        """The state at each place, zeros after a row's end; its last state, and the carry."""
        reading = Reading.begin(cell, given, weight, first, carry, lengths=lengths, flipped=flipped)
        for step in range(given.shape[1]):
            reading.step(step)
        ctx.save_for_backward(weight, reading.before, reading.carries, reading.gates, lengths)
        ctx.cell, ctx.flipped, ctx.begun = cell, flipped, first is not None
        return reading.out, reading.last, reading.carries[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        dout: Float[Tensor, "B T N D"],
        dlast: Float[Tensor, "B N D"],
        dend: Float[Tensor, "B N D"],
    ) -> tuple[Tensor | None, ...]:
        """What is owed to the gates' inputs, the weights, and the state it began with."""
        weight, before, carries, gates, lengths = ctx.saved_tensors
        back = Returning(
            ctx.cell,
            weight,
            carries,
            gates,
            dout.contiguous(),
            dlast.contiguous(),
            dend.contiguous().clone(),
            torch.empty_like(gates),
            lengths=lengths,
            flipped=ctx.flipped,
        )
        for step in reversed(range(before.shape[1])):
            back.step(step)
        firsts = (back.to_first(), back.dcarry) if ctx.begun else (None, None)
        return back.dgates, back.to_weight(before), *firsts, None, None, None
