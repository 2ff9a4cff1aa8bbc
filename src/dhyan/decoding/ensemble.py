"""An ensemble: the mean of the probabilities of several models, token by token."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dhyan.batch import Batch, Source
from dhyan.models.interface import AttentionLayer, State
from dhyan.models.seq2seq import Seq2Seq


@dataclass(frozen=True)
class EnsembleState:
    """The decoder state of every model of an ensemble."""

    states: tuple[State, ...]

    def select(self, rows: Int[Tensor, " R"]) -> "EnsembleState":
        """These rows, of every model."""
        return EnsembleState(tuple(state.select(rows) for state in self.states))


class Ensemble(nn.Module):
    """Models of any kind with one vocabulary; its logits are logarithms of mean probabilities."""

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.training = models[0].training

    @property
    def members(self) -> list[Seq2Seq]:
        """The models, in the order of the constructor."""
        return [cast(Seq2Seq, model) for model in self.models]

    def forward(self, batch: Batch) -> Float[Tensor, "B T V"]:
        """Logits under teacher forcing."""
        return log_mean_prob([model(batch) for model in self.members])

    def attentions(self) -> list[AttentionLayer]:
        """Every attention of every model, with the number of its model."""
        return [
            layer.within(f"models.{member}", member)
            for member, model in enumerate(self.members)
            for layer in model.attentions()
        ]

    def start(self, source: Source) -> EnsembleState:
        """Encode the source with every model."""
        return EnsembleState(tuple(model.start(source) for model in self.members))

    def step(
        self, ids: Int[Tensor, " R"], state: State
    ) -> tuple[Float[Tensor, "R V"], EnsembleState]:
        """Feed the same token to every model."""
        assert isinstance(state, EnsembleState)
        pairs = zip(self.members, state.states, strict=True)
        logits, states = zip(*(model.step(ids, state) for model, state in pairs), strict=True)
        return log_mean_prob(logits), EnsembleState(states)


def log_mean_prob(logits: Sequence[Float[Tensor, "*R V"]]) -> Float[Tensor, "*R V"]:
    """The logarithm of the mean of the probabilities of several logits."""
    logprobs = torch.stack([model_logits.float().log_softmax(dim=-1) for model_logits in logits])
    return logprobs.logsumexp(dim=0) - math.log(len(logits))
