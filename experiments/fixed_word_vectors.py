"""One fixed vector per word, from the words it is found among or from chance, and nothing else."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

PADDING = 0  # the number of no word; its vector is zero


def pmi_vectors(
    sentences: Sequence[Sequence[int]], size: int, width: int, *, window: int = 4
) -> Float[Tensor, "V D"]:
    """What is left of positive pointwise mutual information in so few dimensions.

    Neighbours are counted up to `window` words away on both sides, and the matrix is factored as
    Levy and Goldberg (2014) do. A word has one vector, whatever it means where it stands.
    """
    information = torch.from_numpy(_positive_pmi(_counts(sentences, size, window)))
    with torch.random.fork_rng(devices=[]):  # the factoring begins by chance
        torch.manual_seed(0)
        directions, strengths, _ = torch.svd_lowrank(information, min(size, 2 * width), niter=4)
    return _normalised(directions[:, :width] * strengths[:width].sqrt())


def random_vectors(size: int, width: int, *, seed: int) -> Float[Tensor, "V D"]:
    """Directions that say which word it is and nothing about it."""
    chances = torch.Generator().manual_seed(seed)
    return _normalised(torch.randn(size, width, generator=chances, dtype=torch.float64))


def _counts(
    sentences: Sequence[Sequence[int]], size: int, window: int
) -> Float64[np.ndarray, "V V"]:
    """How often each word stands near each other; sentences are kept apart by padding."""
    gap = [PADDING] * window
    words = np.array([word for sentence in sentences for word in (*sentence, *gap)])
    counts = np.zeros((size, size))
    for distance in range(1, window + 1):
        np.add.at(counts, (words[:-distance], words[distance:]), 1)
    counts += counts.T
    counts[PADDING] = counts[:, PADDING] = 0
    return counts


def _positive_pmi(counts: Float64[np.ndarray, "V V"]) -> Float64[np.ndarray, "V V"]:
    """log p(a, b) / p(a) p(b), and zero where that is negative or nothing was counted."""
    each = counts.sum(0)
    expected = np.outer(each, each) / counts.sum()
    ratio = np.divide(counts, expected, out=np.ones_like(counts), where=expected > 0)
    return np.log(np.maximum(ratio, 1))


def _normalised(vectors: Float[Tensor, "V D"]) -> Float[Tensor, "V D"]:
    """Around zero, and all of length √D, so that a coordinate's mean square is one."""
    centred = vectors - vectors[PADDING + 1 :].mean(0)
    long = centred * vectors.shape[1] ** 0.5 / centred.norm(dim=1, keepdim=True)
    long[PADDING] = 0
    return long.float()
