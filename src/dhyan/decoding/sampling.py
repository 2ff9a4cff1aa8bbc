"""Drawing the next word at random, so that every sentence has its own luck."""

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
    """Chooses words by their chance, for `greedy_search`.

    Only the `top_k` likeliest can be drawn (0: all), and of them the likeliest that make up `top_p`
    of the chance (Holtzman et al., 2020); a `temperature` under 1 makes likely words likelier.
    `numbers` tells each sentence of the batch which one it is among all that are translated: what
    is drawn follows from the seed, that number and the length, whatever else is in the batch. A
    `Manner` sees to it that the settings make sense.
    """

    numbers: Sequence[int]
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __call__(
        self, scores: Float[Tensor, "R V"], sentence: Int[Tensor, " R"], length: int
    ) -> Int[Tensor, " R"]:
        """One word for every row."""
        chances = self.chances(scores)
        block, place = divmod(length, BLOCK)
        luck = uniform(self.seed, tuple(self.numbers), block, scores.device)[sentence, place]
        # In the vocabulary's order: ranked by chance, two words that a rounding swaps would differ.
        # A sum that is made in parallel may step up at a word that has no chance.
        reached = chances.cumsum(dim=-1).masked_fill(chances == 0, -1.0)
        wanted = luck * reached.amax(dim=-1)
        return (reached > wanted.unsqueeze(1)).int().argmax(dim=-1)

    def chances(self, scores: Float[Tensor, "R V"]) -> Float[Tensor, "R V"]:
        """The chance of every word to be drawn."""
        chances = (scores / self.temperature).softmax(dim=-1)
        if not self.top_k and self.top_p == 1:
            return chances
        ranked, order = chances.sort(dim=-1, descending=True, stable=True)
        if self.top_k:
            ranked[:, self.top_k :] = 0.0
            ranked /= ranked.sum(dim=-1, keepdim=True)
        before = ranked.cumsum(dim=-1) - ranked
        ranked = ranked.masked_fill(before >= self.top_p, 0.0)
        return torch.zeros_like(chances).scatter(1, order, ranked / ranked.sum(-1, keepdim=True))


@lru_cache(maxsize=8)
def uniform(
    seed: int, numbers: tuple[int, ...], block: int, device: torch.device
) -> Float[Tensor, "B 64"]:
    """Numbers between 0 and 1 for 64 words of each sentence; moved to the device once."""
    rows = [np.random.default_rng([seed, number, block]) for number in numbers]
    drawn = np.stack([row.random(BLOCK, dtype=np.float32) for row in rows])
    return torch.tensor(drawn, device=device)
