"""Fused token and position embedding equals its definition, gradients too."""

import pytest
import torch

from dhyan.models.positions import LearnedPositions, Sinusoids
from dhyan.models.transformer import TransformerEmbedding
from dhyan.special_tokens import PAD


def build_embedding(width, positions, dropout=0.0):
    torch.manual_seed(1)
    words = torch.nn.Embedding(9, width, padding_idx=PAD)
    return TransformerEmbedding(words, positions, dropout=dropout)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (2, 17, 64)])
def test_embedding_equals_its_definition(sizes):
    rows, length, width = sizes
    embedding, ids = build_embedding(width, Sinusoids(width)), torch.randint(9, (rows, length))
    results = []
    for part in (embedding.train(), embedding.eval()):
        vectors = part(ids, first_position=2)
        (gradient,) = torch.autograd.grad(
            (vectors * vectors.cos()).sum(), embedding.token_embedding.weight
        )
        results.append((vectors, gradient))
        embedding.eval()
    for actual, desired in zip(*results, strict=True):
        torch.testing.assert_close(actual, desired)


def test_learned_positions_get_gradients():
    embedding, ids = build_embedding(6, LearnedPositions(6, 5)), torch.randint(9, (2, 5))
    embedding(ids).sum().backward()
    assert embedding.positions.table.grad.any()


def test_dropped_elements_get_no_gradient():
    embedding, ids = build_embedding(32, Sinusoids(32), dropout=0.5), torch.randint(4, 9, (2, 30))
    vectors = embedding(ids)
    assert 0.4 < (vectors == 0).float().mean() < 0.6
    (gradient,) = torch.autograd.grad(vectors.sum(), embedding.token_embedding.weight)
    expected = torch.zeros_like(gradient).index_add_(
        0, ids.flatten(), (vectors != 0).float().flatten(0, 1) * 2 * 32**0.5
    )
    torch.testing.assert_close(gradient, expected)


def test_autocast_sets_the_dtype():
    embedding, ids = build_embedding(8, Sinusoids(8)), torch.randint(9, (2, 3))
    with torch.autocast("cpu", torch.bfloat16):
        vectors = embedding(ids)
    assert vectors.dtype == torch.bfloat16
    torch.testing.assert_close(vectors.float(), embedding.eval()(ids), rtol=2**-6, atol=2**-6)
