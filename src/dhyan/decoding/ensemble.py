"""Several models that speak with one voice: at every word, the mean of their probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.batch import Batch, Tokens
from dhyan.models.interface import AttentionLayer, State
from dhyan.models.seq2seq import Seq2Seq


@dataclass(frozen=True)
class Standing:
    """Where every model of an ensemble stands."""

    states: tuple[State, ...]

    def select(self, rows: Int[Tensor, " R"]) -> "Standing":
        """Other rows, of all of them."""
        return Standing(tuple(state.select(rows) for state in self.states))


class Ensemble(nn.Module):
    """Models of any kind over the same words; its logits are logarithms of mean probabilities."""

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.training = models[0].training

    @property
    def members(self) -> list[Seq2Seq]:
        """The models, in the order they were given."""
        return [cast(Seq2Seq, model) for model in self.models]

    def forward(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """Teacher forcing, all of them together."""
        return mean_log([model(batch) for model in self.members])

    def attentions(self) -> list[AttentionLayer]:
        """Every attention of every model, with the number of its model."""
        return [
            layer.within(f"models.{member}", member)
            for member, model in enumerate(self.members)
            for layer in model.attentions()
        ]

    def start(self, source: Tokens) -> Standing:
        """Let each of them read the source."""
        return Standing(tuple(model.start(source) for model in self.members))

    def step(self, ids: Int[Tensor, " R"], state: State) -> tuple[Float[Tensor, "R V"], Standing]:
        """Say one more word, the same to all of them."""
        assert isinstance(state, Standing)
        pairs = zip(self.members, state.states, strict=True)
        logits, states = zip(*(model.step(ids, own) for model, own in pairs), strict=True)
        return mean_log(logits), Standing(states)


def mean_log(logits: Sequence[Float[Tensor, "*R V"]]) -> Float[Tensor, "*R V"]:
    """The logarithm of the mean of the probabilities that several logits stand for."""
    each = torch.stack([one.float().log_softmax(dim=-1) for one in logits])
    return each.logsumexp(dim=0) - math.log(len(logits))
