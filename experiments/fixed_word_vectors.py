"""Fixed word vectors: from pointwise mutual information (PMI) with neighbours, or random."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

PADDING = 0  # padding id; its vector is zero


def pmi_vectors(
    sentences: Sequence[Sequence[int]], size: int, width: int, *, window: int = 4
) -> Float[Tensor, "V D"]:
    """Low-rank factors of positive pointwise mutual information.

    Neighbours are counted up to `window` words away on both sides, and the matrix is factored as
    Levy and Goldberg (2014) do. A word has one vector for all its senses.
    """
    information = torch.from_numpy(_positive_pmi(_counts(sentences, size, window)))
    with torch.random.fork_rng(devices=[]):  # svd_lowrank starts from random vectors
        torch.manual_seed(0)
        directions, strengths, _ = torch.svd_lowrank(information, min(size, 2 * width), niter=4)
    return _normalised(directions[:, :width] * strengths[:width].sqrt())


def random_vectors(size: int, width: int, *, seed: int) -> Float[Tensor, "V D"]:
    """Random directions, which identify a word and carry no meaning."""
    generator = torch.Generator().manual_seed(seed)
    return _normalised(torch.randn(size, width, generator=generator, dtype=torch.float64))


def _counts(
    sentences: Sequence[Sequence[int]], size: int, window: int
) -> Float64[np.ndarray, "V V"]:
    """Co-occurrence counts within the window; padding separates sentences."""
    gap = [PADDING] * window
    words = np.array([word for sentence in sentences for word in (*sentence, *gap)])
    counts = np.zeros((size, size))
    for distance in range(1, window + 1):
        np.add.at(counts, (words[:-distance], words[distance:]), 1)
    counts += counts.T
    counts[PADDING] = counts[:, PADDING] = 0
    return counts


def _positive_pmi(counts: Float64[np.ndarray, "V V"]) -> Float64[np.ndarray, "V V"]:
    """log p(a, b) / p(a) p(b), and zero where that is negative or the count is zero."""
    each = counts.sum(0)
    expected = np.outer(each, each) / counts.sum()
    ratio = np.divide(counts, expected, out=np.ones_like(counts), where=expected > 0)
    return np.log(np.maximum(ratio, 1))


def _normalised(vectors: Float[Tensor, "V D"]) -> Float[Tensor, "V D"]:
    """Centred, and scaled to length √D, so that the mean square of a coordinate is one."""
    centred = vectors - vectors[PADDING + 1 :].mean(0)
    scaled = centred * vectors.shape[1] ** 0.5 / centred.norm(dim=1, keepdim=True)
    scaled[PADDING] = 0
    return scaled.float()
