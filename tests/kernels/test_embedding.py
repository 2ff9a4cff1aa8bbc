"""Vectors of ids in one pass equal the same steps one by one, gradients too."""

import pytest
import torch

from dhyan.models.positions import LearnedPositions, Sinusoids
from dhyan.models.transformer import TransformerEmbedding
from dhyan.special_tokens import PAD


def made(width, positions, dropout=0.0):
    torch.manual_seed(1)
    words = torch.nn.Embedding(9, width, padding_idx=PAD)
    return TransformerEmbedding(words, positions, dropout=dropout)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (2, 17, 64)])
def test_vectors_and_gradients_are_the_same(sizes):
    rows, length, width = sizes
    embed, ids = made(width, Sinusoids(width)), torch.randint(9, (rows, length))
    found = []
    for part in (embed.train(), embed.eval()):
        vectors = part(ids, first=2)
        (gradient,) = torch.autograd.grad(
            (vectors * vectors.cos()).sum(), embed.token_embedding.weight
        )
        found.append((vectors, gradient))
        embed.eval()
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_learned_places_learn():
    embed, ids = made(6, LearnedPositions(6, 5)), torch.randint(9, (2, 5))
    embed(ids).sum().backward()
    assert embed.positions.table.grad.any()


def test_what_is_dropped_gets_no_gradient():
    embed, ids = made(32, Sinusoids(32), dropout=0.5), torch.randint(4, 9, (2, 30))
    vectors = embed(ids)
    assert 0.4 < (vectors == 0).float().mean() < 0.6
    (gradient,) = torch.autograd.grad(vectors.sum(), embed.token_embedding.weight)
    wanted = torch.zeros_like(gradient).index_add_(
        0, ids.flatten(), (vectors != 0).float().flatten(0, 1) * 2 * 32**0.5
    )
    torch.testing.assert_close(gradient, wanted)


def test_under_autocast_the_vectors_are_halves():
    embed, ids = made(8, Sinusoids(8)), torch.randint(9, (2, 3))
    with torch.autocast("cpu", torch.bfloat16):
        vectors = embed(ids)
    assert vectors.dtype == torch.bfloat16
    torch.testing.assert_close(vectors.float(), embed.eval()(ids), rtol=2**-6, atol=2**-6)
