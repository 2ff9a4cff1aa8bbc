"""Token embeddings and the output layer: from ids to vectors, and from vectors to logits."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from dhyan.special_tokens import PAD


class OneHot(nn.Module):
    """One-hot vectors, as wide as the vocabulary.

    A matrix after it picks one of its rows, as an embedding does directly.
    """

    empty: Tensor  # its dtype is the one the model was cast to

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.num_embeddings = self.embedding_dim = vocabulary
        self.register_buffer("empty", torch.empty(0), persistent=False)

    def forward(self, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """One-hot vectors; padding is all zeros."""
        vectors = functional.one_hot(token_ids, self.num_embeddings)
        return (vectors * (token_ids != PAD).unsqueeze(-1)).to(self.empty.dtype)


TokenEmbedding = nn.Embedding | OneHot


def output_layer(width: int, token_embedding: TokenEmbedding, *, tied: bool) -> nn.Linear:
    """From the last hidden vector to a logit per token; tied, its weights are the embedding's."""
    output = nn.Linear(width, token_embedding.num_embeddings)
    if tied:
        if isinstance(token_embedding, OneHot):
            raise ValueError(
                "one-hot input has no embedding to tie to: set decoder.tie_embeddings = false"
            )
        if width != token_embedding.embedding_dim:
            raise ValueError(
                f"tied embeddings need the last layer ({width} wide) to be as wide as the "
                f"embedding ({token_embedding.embedding_dim})"
            )
        output.weight = token_embedding.weight
    return output
