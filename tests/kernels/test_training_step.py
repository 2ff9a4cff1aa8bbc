"""A model trains the same by the kernels and by the definitions."""

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


def learned(recipe, *, defined, half=False):
    torch.manual_seed(11)
    model, loss = build_model(recipe, VOCABULARY, VOCABULARY).train(), None
    objective = Objective(bf16=half)
    if defined:
        with reference_kernels():
            loss = objective(model, BATCH, 1)
    else:
        loss = objective(model, BATCH, 1)
    loss.backward()
    return loss.detach(), {name: part.grad for name, part in model.named_parameters()}


@pytest.mark.parametrize("name", RECIPES)
def test_loss_and_gradients_are_those_of_the_definitions(name):
    (wanted, right), (found, ours) = (
        learned(RECIPES[name], defined=defined) for defined in (True, False)
    )
    torch.testing.assert_close(found, wanted)
    for part, gradient in right.items():
        torch.testing.assert_close(ours[part], gradient, rtol=1e-3, atol=1e-5, msg=part)


@pytest.mark.parametrize("name", ["pre-norm", "post-norm"])
def test_half_precision_learns_nearly_the_same(name):
    exact, right = learned(RECIPES[name], defined=True)
    found, ours = learned(RECIPES[name], defined=False, half=True)
    torch.testing.assert_close(found, exact, rtol=0.02, atol=0)
    for part, gradient in right.items():
        error = (ours[part] - gradient).norm()
        assert ours[part].dtype == torch.float32
        assert error <= 0.1 * gradient.norm() + 1e-3, part


def test_dropout_follows_from_the_seed():
    losses = [learned(transformer(dropout=0.3), defined=False)[0] for _ in range(2)]
    assert losses[0] == losses[1]
    assert losses[0] != learned(transformer(), defined=False)[0]
