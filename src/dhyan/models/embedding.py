"""From ids to vectors and back to a score per word: the two ends of every model."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from dhyan.kernels.backend import triton_runs
from dhyan.special_tokens import PAD


class OneHot(nn.Module):
    """The original input: a vector per word with a single one in it, so as wide as the vocabulary.

    A matrix after it picks one of its rows, as an embedding does at once.
    """

    kind: Tensor  # empty: it knows the precision the model was cast to

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.num_embeddings = self.embedding_dim = vocabulary
        self.register_buffer("kind", torch.empty(0), persistent=False)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """One-hot vectors; padding is all zeros."""
        hot = functional.one_hot(ids, self.num_embeddings) * (ids != PAD).unsqueeze(-1)
        return hot.to(self.kind.dtype)


Words = nn.Embedding | OneHot


def output_layer(width: int, words: Words, *, tied: bool) -> nn.Linear:
    """From the last vector to a score per word; tied, it is the embedding read the other way."""
    output = nn.Linear(width, words.num_embeddings)
    if tied:
        if isinstance(words, OneHot):
            raise ValueError(
                "one-hot words have no embedding to tie to: set decoder.tie_embeddings = false"
            )
        if width != words.embedding_dim:
            raise ValueError(
                f"tied embeddings need the last layer ({width} wide) to be as wide as the "
                f"embedding ({words.embedding_dim})"
            )
        output.weight = words.weight
    return output


def maxout(pairs: Float[Tensor, "B T K"]) -> Float[Tensor, "B T R"]:
    """Of every two neighbours the larger (Goodfellow et al., 2013)."""
    if triton_runs(pairs):
        from dhyan.kernels.triton.recurrent.maxout import Maxout

        return Maxout.apply(pairs)
    return pairs.unflatten(-1, (-1, 2)).amax(dim=-1)
