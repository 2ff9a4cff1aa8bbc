"""Sampling with temperature, top-k and top-p, with one random generator per sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

BLOCK = 64


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Sampling of the next token, to be used in `greedy_search`.

    Only the `top_k` likeliest tokens can be sampled (0: all), and of them the likeliest with a
    probability mass of `top_p` (Holtzman et al., 2020). `numbers` identify the sentences of the
    batch: a sample follows from the seed, the sentence's number and the position, whatever else is
    in the batch. `DecodingOptions.check` checks the values.
    """

    numbers: Sequence[int]
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __call__(
        self, scores: Float[Tensor, "R V"], sentence: Int[Tensor, " R"], position: int
    ) -> Int[Tensor, " R"]:
        """A sampled token for each row."""
        probs = self.probs(scores)
        block, offset = divmod(position, BLOCK)
        random = uniform(self.seed, tuple(self.numbers), block, scores.device)[sentence, offset]
        # In vocabulary order: ranked by probability, tokens that a rounding swaps would differ.
        # A parallel cumulative sum may step up at a token of probability 0.
        cumulative = probs.cumsum(dim=-1).masked_fill(probs == 0, -1.0)
        threshold = random * cumulative.amax(dim=-1)
        return (cumulative > threshold.unsqueeze(1)).int().argmax(dim=-1)

    def probs(self, scores: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
        """The probability with which each token is sampled."""
        probs = (scores / self.temperature).softmax(dim=-1)
        if not self.top_k and self.top_p == 1:
            return probs
        ranked, order = probs.sort(dim=-1, descending=True, stable=True)
        if self.top_k:
            ranked[:, self.top_k :] = 0.0
            ranked /= ranked.sum(dim=-1, keepdim=True)
        before = ranked.cumsum(dim=-1) - ranked
        ranked = ranked.masked_fill(before >= self.top_p, 0.0)
        return torch.zeros_like(probs).scatter(1, order, ranked / ranked.sum(-1, keepdim=True))


@lru_cache(maxsize=8)
def uniform(
    seed: int, numbers: tuple[int, ...], block: int, device: torch.device
) -> Float[Tensor, "B 64"]:
    """Random numbers in [0, 1) for 64 tokens of each sentence; moved to the device once."""
    generators = [np.random.default_rng([seed, number, block]) for number in numbers]
    rows = np.stack([generator.random(BLOCK, dtype=np.float32) for generator in generators])
    return torch.tensor(rows, device=device)
