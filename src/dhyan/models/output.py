"""The last layer of every decoder: a score for each word."""

from torch import nn


def output_layer(width: int, embed: nn.Embedding, *, tied: bool) -> nn.Linear:
    """From the last vector to a score per word; tied, it is the embedding read the other way."""
    output = nn.Linear(width, embed.num_embeddings)
    if tied:
        if width != embed.embedding_dim:
            raise ValueError(
                f"tied embeddings need the last layer ({width} wide) to be as wide as the "
                f"embedding ({embed.embedding_dim})"
            )
        output.weight = embed.weight
    return output
