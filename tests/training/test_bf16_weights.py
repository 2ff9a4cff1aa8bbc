"""Weights in half precision for a step."""

import pytest
import torch
from torch import nn

from dhyan.training.bf16_weights import bf16_linear_weights


def network():
    torch.manual_seed(0)
    words = nn.Embedding(7, 5)
    out = nn.Linear(5, 7)
    out.weight = words.weight
    return nn.Sequential(words, nn.Linear(5, 5), nn.LayerNorm(5), out)


def test_inside_the_block_untied_linear_layers_are_bfloat16():
    model = network()
    before = dict(model.named_parameters())
    with bf16_linear_weights(model):
        dtypes = [part.weight.dtype for part in model]
        assert dtypes == [torch.float32, torch.bfloat16, torch.float32, torch.float32]
        assert model[3].bias.dtype == torch.bfloat16
        assert torch.equal(model[1].weight, before["1.weight"].bfloat16())
    after = dict(model.named_parameters())
    assert list(after) == list(before)
    assert all(after[name] is weight for name, weight in before.items())


def test_gradients_are_those_of_autocast():
    gradients = []
    for block in (bf16_linear_weights, None):
        model, ids = network(), torch.tensor([[1, 2, 3]])
        with torch.autocast("cpu", torch.bfloat16):
            if block is None:
                loss = model(ids).float().square().sum()
            else:
                with block(model):
                    loss = model(ids).float().square().sum()
        loss.backward()
        gradients.append({name: weight.grad for name, weight in model.named_parameters()})
    for name, gradient in gradients[1].items():
        assert gradients[0][name].dtype == torch.float32
        torch.testing.assert_close(gradients[0][name], gradient)


def test_weights_are_restored_after_an_error():
    model = network()
    before = list(model.parameters())
    with pytest.raises(RuntimeError, match="stop"), bf16_linear_weights(model):
        raise RuntimeError("stop")
    assert all(
        weight is original for weight, original in zip(model.parameters(), before, strict=True)
    )


def test_an_unused_weight_gets_no_gradient():
    model = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
    with bf16_linear_weights(model):
        loss = model[0](torch.ones(1, 3, dtype=torch.bfloat16)).float().sum()
    loss.backward()
    assert model[0].weight.grad is not None
    assert model[1].weight.grad is None
