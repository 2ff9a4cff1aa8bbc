"""Residual sums, layer norms and linear ReLU layers equal their definitions, gradients too."""

import pytest
import torch
from torch.nn.functional import layer_norm

from dhyan.attention import parameter_free_attention
from dhyan.batch import Tokens
from dhyan.models.feed_forward import FeedForward
from dhyan.models.transformer import EncoderLayer

SIZES = [(1, 1, 1), (2, 3, 5), (1, 7, 33), (3, 2, 64)]


def random_inputs(*sizes, dtype=torch.float32):
    torch.manual_seed(4)
    x, update = (torch.randn(*sizes).to(dtype).requires_grad_() for _ in range(2))
    weight, bias = (torch.randn(sizes[-1], requires_grad=True) for _ in range(2))
    return x, update, weight, bias


def gradients(outputs, parts):
    torch.manual_seed(5)
    upstream = [torch.randn(output.shape).to(output.dtype) for output in outputs]
    return torch.autograd.grad(outputs, parts, upstream)


def definition(x, update, weight, bias):
    total = x + update
    return total, layer_norm(total, total.shape[-1:], weight, bias, 1e-5)


def kernel(x, update, weight, bias, dropout=0.0):
    from dhyan.kernels.triton.add_norm import add_norm

    return add_norm(x, update, weight, bias, dropout=dropout, epsilon=1e-5)


@pytest.mark.parametrize("sizes", SIZES)
def test_add_norm_equals_its_definition(sizes):
    parts = random_inputs(*sizes)
    outputs, expected = kernel(*parts), definition(*parts)
    for actual, desired in zip(outputs, expected, strict=True):
        torch.testing.assert_close(actual, desired)
    for actual, desired in zip(gradients(outputs, parts), gradients(expected, parts), strict=True):
        torch.testing.assert_close(actual, desired, rtol=1e-4, atol=1e-5)


def test_without_an_update_the_residual_is_unchanged():
    x, _, weight, bias = random_inputs(2, 3, 7)
    parts = x, weight, bias
    outputs = kernel(x, None, weight, bias)
    expected = x * 1, layer_norm(x, (7,), weight, bias, 1e-5)
    assert torch.equal(outputs[0], x)
    torch.testing.assert_close(outputs[1], expected[1])
    for actual, desired in zip(gradients(outputs, parts), gradients(expected, parts), strict=True):
        torch.testing.assert_close(actual, desired, rtol=1e-4, atol=1e-5)


def test_the_residual_may_be_unused():
    parts = random_inputs(2, 3, 7)
    outputs, expected = kernel(*parts)[1:], definition(*parts)[1:]
    for actual, desired in zip(gradients(outputs, parts), gradients(expected, parts), strict=True):
        torch.testing.assert_close(actual, desired, rtol=1e-4, atol=1e-5)


def test_half_precision_is_within_its_rounding_error():
    parts = random_inputs(2, 9, 48, dtype=torch.bfloat16)
    full = [part.detach().float().requires_grad_() for part in parts]
    rounded = (full[0] + full[1]).detach()
    outputs, exact = kernel(*parts), layer_norm(rounded, (48,), full[2], full[3], 1e-5)
    assert outputs[0].dtype == outputs[1].dtype == torch.bfloat16
    torch.testing.assert_close(outputs[0].float(), rounded, rtol=2**-7, atol=0)
    torch.testing.assert_close(outputs[1].float(), exact, rtol=2**-6, atol=2**-6)
    for actual, expected_grad in zip(
        gradients(outputs, parts), gradients(definition(*full), full), strict=True
    ):
        torch.testing.assert_close(actual.float(), expected_grad, rtol=0.05, atol=0.05)


def test_dropout_follows_the_generator_and_drops_gradients():
    from dhyan.kernels.triton.add_norm import add_dropout

    x, update = torch.zeros(2, 40, 30), torch.ones(2, 40, 30, requires_grad=True)
    torch.manual_seed(8)
    once = add_dropout(x, update, dropout=0.25)
    again = add_dropout(x, update, dropout=0.25)
    torch.manual_seed(8)
    assert torch.equal(once, add_dropout(x, update, dropout=0.25))
    assert not torch.equal(once, again)
    assert once.unique().tolist() == pytest.approx([0, 4 / 3])
    assert 0.7 < (once > 0).float().mean() < 0.8
    (upstream,) = torch.autograd.grad(once.sum(), update)
    assert torch.equal(upstream, once.detach())


def test_dropout_is_independent_across_rows_and_columns():
    from dhyan.kernels.triton.add_norm import add_dropout

    torch.manual_seed(9)
    kept_mask = (
        add_dropout(torch.zeros(1, 200, 128), torch.ones(1, 200, 128), dropout=0.5) > 0
    ).float()[0]
    centred = kept_mask - kept_mask.mean()
    for desired in (centred.roll(1, 0), centred.roll(1, 1), centred.roll((1, 1), (0, 1))):
        assert (centred * desired).mean().abs() < 0.25 * 4 / 200  # four deviations of a chance find
    assert (kept_mask.mean(0) - 0.5).abs().max() < 0.2
    assert (kept_mask.mean(1) - 0.5).abs().max() < 0.25


@pytest.mark.parametrize("pre_norm", [True, False])
def test_an_encoder_layer_equals_its_definition(pre_norm):
    torch.manual_seed(6)
    network = FeedForward(12, 20)
    layer = EncoderLayer(12, parameter_free_attention(), network, pre_norm=pre_norm, dropout=0.0)
    x, source = torch.randn(2, 3, 12, requires_grad=True), Tokens.pad([[4, 5, 6], [7, 8]])
    parts = x, *layer.parameters()
    fast = layer(x, source)
    slow = layer.eval()(x, source)
    torch.testing.assert_close(fast, slow)
    for actual_grad, expected_grad in zip(
        torch.autograd.grad(fast.square().sum(), parts, allow_unused=True),
        torch.autograd.grad(slow.square().sum(), parts, allow_unused=True),
        strict=True,
    ):
        torch.testing.assert_close(actual_grad, expected_grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 5, 3, 7), (2, 19, 8, 130)])
def test_linear_relu_equals_its_definition(sizes):
    torch.manual_seed(7)
    rows, length, width, hidden = sizes
    network = FeedForward(width, hidden, dropout=0.0)
    x = torch.randn(rows, length, width, requires_grad=True)
    parts = x, *network.parameters()
    fast = network(x)
    slow = network.eval()(x)
    torch.testing.assert_close(fast, slow)
    for actual_grad, expected_grad in zip(
        gradients([fast], parts), gradients([slow], parts), strict=True
    ):
        torch.testing.assert_close(actual_grad, expected_grad, rtol=1e-4, atol=1e-5)


def test_linear_relu_drops_at_the_given_rate():
    from dhyan.kernels.triton.linear_relu import linear_relu

    torch.manual_seed(7)
    x, weight = torch.randn(1, 60, 5, requires_grad=True), torch.randn(40, 5, requires_grad=True)
    bias = torch.randn(40, requires_grad=True)
    undropped = torch.relu(torch.nn.functional.linear(x, weight, bias))
    outputs = linear_relu(x, weight, bias, dropout=0.5)
    kept_mask = outputs > 0
    torch.testing.assert_close(outputs, torch.where(kept_mask, 2 * undropped, 0.0))
    assert 0.45 < kept_mask.sum() / (undropped > 0).sum() < 0.55
    expected = torch.where(kept_mask, 2 * undropped, 0.0)
    for actual_grad, expected_grad in zip(
        gradients([outputs], (x, weight, bias)),
        gradients([expected], (x, weight, bias)),
        strict=True,
    ):
        torch.testing.assert_close(actual_grad, expected_grad, rtol=1e-4, atol=1e-5)
