"""Random vectors for the words of a reader's own sentence, drawn from each word and a seed."""

from collections.abc import Sequence
from hashlib import sha256

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.lessons.lesson import parse_int

WIDTH = 4  # as wide as the states and vectors of the worked examples


def seeded_vectors(
    words: Sequence[str], *, seed: int, width: int = WIDTH
) -> Float64[Tensor, "T D"]:
    """Standard normal numbers; a word has the same vector wherever it occurs, in any sentence."""
    parse_int("seed", seed, least=0)
    return torch.stack([_seeded_vector(word, seed, parse_int("width", width)) for word in words])


def _seeded_vector(word: str, seed: int, width: int) -> Float64[Tensor, " D"]:
    checksum = int.from_bytes(sha256(f"{seed} {word}".encode()).digest()[:7], "big")
    generator = torch.Generator().manual_seed(checksum)
    return torch.randn(width, generator=generator, dtype=torch.float64)
