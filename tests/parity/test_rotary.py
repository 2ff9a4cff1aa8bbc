"""Rotary positions against `transformers`' implementation."""

import pytest
import torch
from transformers.models.llama import modeling_llama as llama

from dhyan.attention.rotary import rotate


@pytest.mark.parametrize("width", [8, 64])
@pytest.mark.parametrize("first", [0, 5])
def test_rotation_equals_llama(width, first):
    settings = llama.LlamaConfig(hidden_size=width * 2, num_attention_heads=2, head_dim=width)
    theirs = llama.LlamaRotaryEmbedding(settings)
    torch.manual_seed(0)
    query, keys = torch.randn(3, 2, 7, width), torch.randn(3, 2, 7, width)
    positions = torch.arange(first, first + 7)
    cosine, sine = theirs(query, positions.unsqueeze(0))
    expected = llama.apply_rotary_pos_emb(query, keys, cosine, sine)
    for ours, rotated in zip((query, keys), expected, strict=True):
        torch.testing.assert_close(rotate(ours, positions), rotated, atol=1e-5, rtol=1e-5)
