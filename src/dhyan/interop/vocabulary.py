"""From the ids of another toolkit to ours, where the special tokens are the first four."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.errors import UserError
from dhyan.safe_io.json_toml import safe_repr
from dhyan.special_tokens import BOS, EOS, NAMES, PAD

NEVER = -100.0  # the logit of a token that their model lacks: e⁻¹⁰⁰ of a probability
NONE = -1  # the row of a token that their model lacks


@dataclass(frozen=True)
class Roles:
    """Their ids of the special tokens; NONE where they have none.

    `bos`, which the decoder starts with, may be the same as `pad` or as `eos`.
    """

    pad: int
    bos: int
    eos: int
    unk: int


@dataclass(frozen=True)
class Vocabulary:
    """Our tokens in the order of our ids, and the row that each has in their tables."""

    tokens: tuple[str, ...]
    rows: tuple[int, ...]

    @classmethod
    def arrange(cls, tokens: Sequence[str], roles: Roles, *, place: str) -> "Vocabulary":
        """Special tokens first, all others in their order.

        A token with the name of a special one that plays no such part is given another name.
        """
        special = (roles.pad, roles.bos, roles.eos, roles.unk)
        rest = [id for id in range(len(tokens)) if id not in special]
        if len(set(tokens)) < len(tokens):
            raise UserError(f"{place}: a token comes twice")
        if "" in tokens:
            raise UserError(f"{place}: token {tokens.index('')} is empty")
        names = [f"⟨{tokens[id]}⟩" if tokens[id] in NAMES else tokens[id] for id in rest]
        for id, name in zip(rest, names, strict=True):
            if name != tokens[id] and name in tokens:
                raise UserError(f"{place}: {safe_repr(tokens[id])} cannot be renamed")
        return cls((*NAMES, *names), (*special, *rest))

    @property
    def size(self) -> int:
        """The number of rows of their tables."""
        return len({row for row in self.rows if row != NONE})

    def rearranged(self, table: Float[Tensor, "V ..."]) -> Float[Tensor, "W ..."]:
        """The rows of a table in our order; zeros for what it lacks."""
        rows = torch.tensor(self.rows)
        missing = (rows == NONE).view(-1, *[1] * (table.dim() - 1))
        return table[rows.clamp(min=0)].masked_fill(missing, 0.0)

    def output_bias(
        self, bias: Float[Tensor, " V"], *, padding_is_possible: bool
    ) -> Float[Tensor, " W"]:
        """The bias of the output layer, so that every token keeps its probability.

        Where one token of theirs is both padding and beginning, two rows of ours share what it had:
        each has half of its probability. If their search takes the probability from it, so do we.
        Where it is both end and beginning, the end has all.
        """
        ours = self.rearranged(bias)
        ours[[at for at, row in enumerate(self.rows) if row == NONE]] = NEVER
        if self.rows[BOS] == self.rows[EOS]:
            ours[BOS] = NEVER
        if not padding_is_possible:
            ours[[PAD, BOS]] = NEVER
        elif self.rows[PAD] == self.rows[BOS] != NONE:
            ours[[PAD, BOS]] -= log(2)
        return ours
