"""A Transformer's encoder with nothing to learn in its self-attention, or without any."""

import pytest
import torch

from dhyan.batch import Tokens
from dhyan.config import load_recipe
from dhyan.models.build import build_model


def encoder(**settings):
    torch.manual_seed(0)
    small = {"encoder.width": 16, "encoder.heads": 2, "encoder.feed_forward_width": 32, **settings}
    return build_model(load_recipe("transformer2017-small", small), 20, 20).encoder.eval()


def states(model, ids):
    with torch.no_grad():
        return model(Tokens.pad([ids])).states[0]


def test_without_self_attention_states_ignore_other_tokens():
    model = encoder(**{"encoder.self_attention": "none"})
    torch.testing.assert_close(states(model, [5, 6, 7])[1], states(model, [9, 6, 4])[1])


@pytest.mark.parametrize("kind", ["learned", "parameter_free"])
def test_with_self_attention_states_depend_on_other_tokens(kind):
    model = encoder(**{"encoder.self_attention": kind})
    assert not torch.allclose(states(model, [5, 6, 7])[1], states(model, [9, 6, 4])[1])


def test_parameter_free_self_attention_has_no_parameters():
    parts = {
        kind: encoder(**{"encoder.self_attention": kind}).layers[0]
        for kind in ("parameter_free", "none")
    }
    assert not list(parts["parameter_free"].self_attention.parameters())
    assert parts["none"].self_attention is None
    assert parts["none"].self_attention_norm is None
