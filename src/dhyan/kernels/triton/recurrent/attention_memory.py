"""A memory that is looked at step by step, and paid back for all steps at once."""

from dataclasses import dataclass
from typing import Any

import torch
import triton
from jaxtyping import Bool, Float
from torch import Tensor

from dhyan.kernels.triton.recurrent.attention_step import keys_back, look, look_back
from dhyan.kernels.triton.recurrent.rnn_layer import fast


def look_tile(size: int, width: int) -> dict[str, int]:
    """How many places and columns a look takes at a time; a thread has 64 numbers of them."""
    seen = max(16, triton.next_power_of_2(size))
    inner = min(triton.next_power_of_2(width), max(8, 16384 // seen))
    return {"SEEN": seen, "INNER": inner, "num_warps": max(1, min(8, seen * inner // 2048))}


@dataclass(frozen=True)
class Memory:
    """What is looked at, and how: additive if there is an energy, else by products."""

    keys: Float[Tensor, "B S A"]
    values: Float[Tensor, "B S C"]
    mask: Bool[Tensor, "B S"]
    energy: Float[Tensor, " A"] | None
    scale: float

    def look(
        self,
        query: Float[Tensor, "B T A"],
        weights: Float[Tensor, "B T S"],
        contexts: Float[Tensor, "B T C"],
        step: int,
    ) -> None:
        """The weights and context of a step."""
        look[(len(query),)](
            query,
            self.keys,
            self.values,
            self.mask,
            self.energy,
            weights,
            contexts,
            self.scale,
            step,
            *weights.shape[1:],
            DEPTH=self.values.shape[-1],
            **self._settings(),
        )

    def look_back(
        self,
        query: Float[Tensor, "B T A"],
        weights: Float[Tensor, "B T S"],
        dcontexts: Float[Tensor, "B T C"],
        dscores: Float[Tensor, "B T S"],
        dquery: Float[Tensor, "B T A"],
        step: int,
    ) -> None:
        """From a step's context to its scores and its query."""
        look_back[(len(query),)](
            query,
            self.keys,
            self.values,
            self.energy,
            weights,
            dcontexts,
            dscores,
            dquery,
            self.scale,
            step,
            *weights.shape[1:],
            DEPTH=self.values.shape[-1],
            STRIDE=dcontexts.stride(1),
            **self._settings(),
        )

    def owed(
        self,
        query: Float[Tensor, "B T A"],
        weights: Float[Tensor, "B T S"],
        dcontexts: Float[Tensor, "B T C"],
        dscores: Float[Tensor, "B T S"],
    ) -> tuple[
        Float[Tensor, "B S A"], Float[Tensor, "B S C"], None, Float[Tensor, " A"] | None, None
    ]:
        """What all steps together owe to the keys, the values and the energy."""
        dvalues = torch.bmm(weights.transpose(1, 2), dcontexts)
        if self.energy is None:
            dkeys = torch.bmm(dscores.to(query.dtype).transpose(1, 2), query)
            return dkeys, dvalues, None, None, None
        dkeys = torch.empty_like(self.keys)
        batch, size, width = self.keys.shape
        seen = min(32, triton.next_power_of_2(size))
        inner = min(64, max(16, triton.next_power_of_2(width)))
        parts = triton.cdiv(size, seen)
        denergy = query.new_empty(batch * parts, width, dtype=torch.float32)
        keys_back[(batch, triton.cdiv(width, inner), parts)](
            query,
            self.keys,
            self.energy,
            dscores,
            dkeys,
            denergy,
            *dscores.shape[1:],
            WIDTH=width,
            FAST=fast(query),
            SEEN=seen,
            INNER=inner,
        )
        return dkeys, dvalues, None, denergy.sum(dim=0).to(self.energy.dtype), None

    def _settings(self) -> dict[str, Any]:
        size, width = self.keys.shape[1:]
        return {
            "ADDITIVE": self.energy is not None,
            "WIDTH": width,
            "FAST": fast(self.keys),
            **look_tile(size, max(width, self.values.shape[-1])),
        }
