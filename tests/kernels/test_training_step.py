"""Losses and gradients of whole models equal by kernels and by definitions."""

import pytest
import torch

from dhyan import config
from dhyan.batch import Batch, Tokens
from dhyan.kernels.backend import reference_kernels
from dhyan.models.build import build_model
from dhyan.training.loss import Objective

VOCABULARY = 23
BATCH = Batch(
    Tokens.pad([[5, 6, 7, 8, 2], [9, 2]]),
    Tokens.pad([[1, 7, 2], [1, 9, 10, 2]]),
)


def transformer(**more):
    chosen = {"width": 8, "heads": 2, "feed_forward_width": 12, "layers": 1, "dropout": 0.0, **more}
    encoder = config.TransformerEncoder(**chosen)
    decoder = config.TransformerDecoder(**chosen)
    return config.Recipe(encoder=encoder, decoder=decoder)


RECIPES = {
    "pre-norm": transformer(),
    "post-norm": transformer(norm="post"),
    "shared heads": transformer(kv_heads=1),
    "gelu": transformer(activation="gelu"),
    "rotary": transformer(positions="rotary"),
    "additive": transformer(score="additive"),
    "learned places": transformer(positions="learned"),
    "bahdanau": config.Recipe(
        encoder=config.RNNEncoder(embedding_width=8, width=8, dropout=0.0),
        decoder=config.BahdanauDecoder(
            attention=config.Attention(score_width=8),
            embedding_width=8,
            width=8,
            readout_width=8,
            dropout=0.0,
        ),
    ),
}


def loss_and_gradients(recipe, *, reference, half=False):
    torch.manual_seed(11)
    model, loss = build_model(recipe, VOCABULARY, VOCABULARY).train(), None
    objective = Objective(bf16=half)
    if reference:
        with reference_kernels():
            loss = objective(model, BATCH, 1)
    else:
        loss = objective(model, BATCH, 1)
    loss.backward()
    return loss.detach(), {name: part.grad for name, part in model.named_parameters()}


@pytest.mark.parametrize("name", RECIPES)
def test_loss_and_gradients_equal_the_definitions(name):
    (expected_loss, expected), (fused_loss, actual) = (
        loss_and_gradients(RECIPES[name], reference=reference) for reference in (True, False)
    )
    torch.testing.assert_close(fused_loss, expected_loss)
    for part, gradient in expected.items():
        torch.testing.assert_close(actual[part], gradient, rtol=1e-3, atol=1e-5, msg=part)


@pytest.mark.parametrize("name", ["pre-norm", "post-norm"])
def test_half_precision_gradients_are_close(name):
    exact, expected = loss_and_gradients(RECIPES[name], reference=True)
    fused_loss, actual = loss_and_gradients(RECIPES[name], reference=False, half=True)
    torch.testing.assert_close(fused_loss, exact, rtol=0.02, atol=0)
    for part, gradient in expected.items():
        error = (actual[part] - gradient).norm()
        assert actual[part].dtype == torch.float32
        assert error <= 0.1 * gradient.norm() + 1e-3, part


def test_dropout_follows_from_the_seed():
    losses = [loss_and_gradients(transformer(dropout=0.3), reference=False)[0] for _ in range(2)]
    assert losses[0] == losses[1]
    assert losses[0] != loss_and_gradients(transformer(), reference=False)[0]
