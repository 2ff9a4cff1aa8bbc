"""Mixers of the experiment: attention without parameters, and with learned projections."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dhyan.attention import Attention, DotScore, MultiHeadAttention, SingleHeadAttention
from dhyan.kernels.backend import reference_kernels


class NoMixer(nn.Module):
    """No mixer: the word's own vector."""

    def forward(
        self, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"], position: Int[Tensor, " B"]
    ) -> Float[Tensor, "B D"]:
        """The vector at the position."""
        return states[torch.arange(len(position)), position]

    def weight_on_itself(
        self, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"], position: Int[Tensor, " B"]
    ) -> float:
        """Always 1."""
        return 1.0


class Mixer(nn.Module):
    """Attention of one word to its sentence, with a scaled query and an optional map after it.

    With sharpness 0 all weights are equal: the context is the mean.
    """

    def __init__(
        self, attention: Attention, *, sharpness: float = 1.0, after: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.attention = attention
        self.sharpness = sharpness
        self.after = after or nn.Identity()

    def forward(
        self, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"], position: Int[Tensor, " B"]
    ) -> Float[Tensor, "B D"]:
        """The context of the word at the position."""
        query = states[torch.arange(len(position)), position].unsqueeze(1) * self.sharpness
        context = self.attention(query, self.attention.remember(states, real)).context
        return self.after(context.squeeze(1))

    def weight_on_itself(
        self, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"], position: Int[Tensor, " B"]
    ) -> float:
        """Mean attention weight of a word on itself."""
        rows = torch.arange(len(position))
        query = states[rows, position].unsqueeze(1) * self.sharpness
        with reference_kernels():
            weights = self.attention(query, self.attention.remember(states, real)).weights
        assert weights is not None
        return weights[rows, 0, 0, position].mean().item()


def parameter_free(width: int, *, sharpness: float = 1.0, after: nn.Module | None = None) -> Mixer:
    """softmax(XXᵀ/√d)X at one row."""
    return Mixer(SingleHeadAttention(DotScore(scaled=True)), sharpness=sharpness, after=after)


def learned(width: int, *parts: str) -> Mixer:
    """The same with some of query, key and value projections learned; the others are identities.

    There is no output projection: the classifier follows.
    """
    attention = MultiHeadAttention(width, heads=1)
    for part in ("query", "key", "value", "output"):
        if part not in parts:
            setattr(attention, part, nn.Identity())
    return Mixer(attention)


def mapped_mean(width: int) -> Mixer:
    """The mean, with as many parameters after it as query, key and value projections have."""
    layers = nn.Sequential(*(nn.Linear(width, width) for _ in range(3)))
    return parameter_free(width, sharpness=0.0, after=layers)


ARMS: dict[str, Callable[[int], NoMixer | Mixer]] = {
    "none": lambda width: NoMixer(),
    "mean": lambda width: parameter_free(width, sharpness=0.0),
    "mean, mapped": mapped_mean,
    "parameter-free": parameter_free,
    # Vectors have length √d, so a further division by √d makes the scores cosines.
    "parameter-free, cosine": lambda width: parameter_free(width, sharpness=width**-0.5),
    "learned V": lambda width: learned(width, "value"),
    "learned Q, K": lambda width: learned(width, "query", "key"),
    "learned Q, K, V": lambda width: learned(width, "query", "key", "value"),
}
