"""What lets a word look at its sentence: mixers with nothing to learn, and the same that learn."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dhyan.attention import Attention, DotScore, MultiHeadAttention, SingleHeadAttention
from dhyan.kernels.backend import reference_kernels


class NoMixer(nn.Module):
    """No mixer: the word's own vector."""

    def forward(
        self, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"], place: Int[Tensor, " B"]
    ) -> Float[Tensor, "B D"]:
        """The vector at the place."""
        return states[torch.arange(len(place)), place]

    def weight_on_itself(
        self, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"], place: Int[Tensor, " B"]
    ) -> float:
        """There is nothing else."""
        return 1.0


class Mixer(nn.Module):
    """The word asks its sentence, so sharply, and what it finds is mapped if there is a map.

    Asked without any sharpness, all words weigh the same: the context is their mean.
    """

    def __init__(
        self, attention: Attention, *, sharpness: float = 1.0, after: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.attention = attention
        self.sharpness = sharpness
        self.after = after or nn.Identity()

    def forward(
        self, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"], place: Int[Tensor, " B"]
    ) -> Float[Tensor, "B D"]:
        """What the word at the place found."""
        query = states[torch.arange(len(place)), place].unsqueeze(1) * self.sharpness
        context = self.attention(query, self.attention.remember(states, real)).context
        return self.after(context.squeeze(1))

    def weight_on_itself(
        self, states: Float[Tensor, "B S D"], real: Bool[Tensor, "B S"], place: Int[Tensor, " B"]
    ) -> float:
        """How much of what a word finds is the word, on average."""
        rows = torch.arange(len(place))
        query = states[rows, place].unsqueeze(1) * self.sharpness
        with reference_kernels():
            weights = self.attention(query, self.attention.remember(states, real)).weights
        assert weights is not None
        return weights[rows, 0, 0, place].mean().item()


def parameter_free(width: int, *, sharpness: float = 1.0, after: nn.Module | None = None) -> Mixer:
    """softmax(XXᵀ/√d)X at one row."""
    return Mixer(SingleHeadAttention(DotScore(scaled=True)), sharpness=sharpness, after=after)


def learned(width: int, *parts: str) -> Mixer:
    """The same with some of query, key and value learned; the others stay the vectors themselves.

    There is no map after the values: the read-out is one.
    """
    attention = MultiHeadAttention(width, heads=1)
    for part in ("query", "key", "value", "output"):
        if part not in parts:
            setattr(attention, part, nn.Identity())
    return Mixer(attention)


def mapped_mean(width: int) -> Mixer:
    """The mean, and as many numbers to learn as queries, keys and values have."""
    three = nn.Sequential(*(nn.Linear(width, width) for _ in range(3)))
    return parameter_free(width, sharpness=0.0, after=three)


ARMS: dict[str, Callable[[int], NoMixer | Mixer]] = {
    "none": lambda width: NoMixer(),
    "mean": lambda width: parameter_free(width, sharpness=0.0),
    "mean, mapped": mapped_mean,
    "parameter-free": parameter_free,
    # All vectors are √d long: divided by √d once more, their scores are cosines.
    "parameter-free, cosine": lambda width: parameter_free(width, sharpness=width**-0.5),
    "learned V": lambda width: learned(width, "value"),
    "learned Q, K": lambda width: learned(width, "query", "key"),
    "learned Q, K, V": lambda width: learned(width, "query", "key", "value"),
}
