"""Steps of the residual road in one pass equal the same steps one by one, gradients too."""

import pytest
import torch
from torch.nn.functional import layer_norm

from dhyan.attention import parameter_free_attention
from dhyan.batch import Tokens
from dhyan.models.feed_forward import FeedForward
from dhyan.models.transformer import EncoderLayer

SIZES = [(1, 1, 1), (2, 3, 5), (1, 7, 33), (3, 2, 64)]


def case(*sizes, kind=torch.float32):
    torch.manual_seed(4)
    x, found = (torch.randn(*sizes).to(kind).requires_grad_() for _ in range(2))
    weight, bias = (torch.randn(sizes[-1], requires_grad=True) for _ in range(2))
    return x, found, weight, bias


def gradients(outputs, parts):
    torch.manual_seed(5)
    given = [torch.randn(one.shape).to(one.dtype) for one in outputs]
    return torch.autograd.grad(outputs, parts, given)


def by_definition(x, found, weight, bias):
    total = x + found
    return total, layer_norm(total, total.shape[-1:], weight, bias, 1e-5)


def by_kernel(x, found, weight, bias, dropout=0.0):
    from dhyan.kernels.triton.add_norm import add_norm

    return add_norm(x, found, weight, bias, dropout=dropout, epsilon=1e-5)


@pytest.mark.parametrize("sizes", SIZES)
def test_a_sum_is_normalised_as_defined(sizes):
    parts = case(*sizes)
    found, wanted = by_kernel(*parts), by_definition(*parts)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
    for one, other in zip(gradients(found, parts), gradients(wanted, parts), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_with_nothing_to_add_the_road_goes_on_as_it_is():
    x, _, weight, bias = case(2, 3, 7)
    parts = x, weight, bias
    found = by_kernel(x, None, weight, bias)
    wanted = x * 1, layer_norm(x, (7,), weight, bias, 1e-5)
    assert torch.equal(found[0], x)
    torch.testing.assert_close(found[1], wanted[1])
    for one, other in zip(gradients(found, parts), gradients(wanted, parts), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_only_the_norm_may_be_used():
    parts = case(2, 3, 7)
    found, wanted = by_kernel(*parts)[1:], by_definition(*parts)[1:]
    for one, other in zip(gradients(found, parts), gradients(wanted, parts), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_half_precision_loses_what_half_precision_must():
    parts = case(2, 9, 48, kind=torch.bfloat16)
    full = [part.detach().float().requires_grad_() for part in parts]
    rounded = (full[0] + full[1]).detach()
    found, exact = by_kernel(*parts), layer_norm(rounded, (48,), full[2], full[3], 1e-5)
    assert found[0].dtype == found[1].dtype == torch.bfloat16
    torch.testing.assert_close(found[0].float(), rounded, rtol=2**-7, atol=0)
    torch.testing.assert_close(found[1].float(), exact, rtol=2**-6, atol=2**-6)
    for one, right in zip(
        gradients(found, parts), gradients(by_definition(*full), full), strict=True
    ):
        torch.testing.assert_close(one.float(), right, rtol=0.05, atol=0.05)


def test_what_is_dropped_follows_from_the_generator_and_gets_no_gradient():
    from dhyan.kernels.triton.add_norm import add_dropout

    x, found = torch.zeros(2, 40, 30), torch.ones(2, 40, 30, requires_grad=True)
    torch.manual_seed(8)
    once = add_dropout(x, found, dropout=0.25)
    again = add_dropout(x, found, dropout=0.25)
    torch.manual_seed(8)
    assert torch.equal(once, add_dropout(x, found, dropout=0.25))
    assert not torch.equal(once, again)
    assert once.unique().tolist() == pytest.approx([0, 4 / 3])
    assert 0.7 < (once > 0).float().mean() < 0.8
    (given,) = torch.autograd.grad(once.sum(), found)
    assert torch.equal(given, once.detach())


def test_rows_and_columns_are_dropped_independently():
    from dhyan.kernels.triton.add_norm import add_dropout

    torch.manual_seed(9)
    stays = (
        add_dropout(torch.zeros(1, 200, 128), torch.ones(1, 200, 128), dropout=0.5) > 0
    ).float()[0]
    apart = stays - stays.mean()
    for other in (apart.roll(1, 0), apart.roll(1, 1), apart.roll((1, 1), (0, 1))):
        assert (apart * other).mean().abs() < 0.25 * 4 / 200  # four deviations of a chance find
    assert (stays.mean(0) - 0.5).abs().max() < 0.2
    assert (stays.mean(1) - 0.5).abs().max() < 0.25


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
    for left, right in zip(
        torch.autograd.grad(fast.square().sum(), parts, allow_unused=True),
        torch.autograd.grad(slow.square().sum(), parts, allow_unused=True),
        strict=True,
    ):
        torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 5, 3, 7), (2, 19, 8, 130)])
def test_a_rectified_map_is_the_same_in_one_pass(sizes):
    torch.manual_seed(7)
    rows, length, width, hidden = sizes
    network = FeedForward(width, hidden, dropout=0.0)
    x = torch.randn(rows, length, width, requires_grad=True)
    parts = x, *network.parameters()
    fast = network(x)
    slow = network.eval()(x)
    torch.testing.assert_close(fast, slow)
    for left, right in zip(gradients([fast], parts), gradients([slow], parts), strict=True):
        torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-5)


def test_a_rectified_map_drops_what_it_says():
    from dhyan.kernels.triton.linear_relu import linear_relu

    torch.manual_seed(7)
    x, weight = torch.randn(1, 60, 5, requires_grad=True), torch.randn(40, 5, requires_grad=True)
    bias = torch.randn(40, requires_grad=True)
    whole = torch.relu(torch.nn.functional.linear(x, weight, bias))
    found = linear_relu(x, weight, bias, dropout=0.5)
    stays = found > 0
    torch.testing.assert_close(found, torch.where(stays, 2 * whole, 0.0))
    assert 0.45 < stays.sum() / (whole > 0).sum() < 0.55
    wanted = torch.where(stays, 2 * whole, 0.0)
    for left, right in zip(
        gradients([found], (x, weight, bias)), gradients([wanted], (x, weight, bias)), strict=True
    ):
        torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-5)
