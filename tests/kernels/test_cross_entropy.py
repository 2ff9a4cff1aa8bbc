"""Fused output layer and cross-entropy or R-Drop equal the loss of the logits, gradients too."""

import pytest
import torch

from dhyan.batch import Tokens
from dhyan.kernels.reference import r_drop_loss
from dhyan.special_tokens import PAD
from dhyan.training.loss import cross_entropy


def random_inputs(rows, width, vocabulary, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    hidden, weight, bias = (
        torch.randn(*shape, generator=generator).to(dtype).requires_grad_()
        for shape in ((rows, width), (vocabulary, width), (vocabulary,))
    )
    labels = torch.randint(vocabulary, (rows,), generator=generator)
    labels[:: max(2, rows // 2)] = PAD
    return hidden, weight, bias, labels


def definition(hidden, weight, bias, labels, smoothing):
    logits = torch.nn.functional.linear(hidden, weight, bias)
    tokens = Tokens(labels.unsqueeze(0), (labels != PAD).unsqueeze(0))
    return cross_entropy(logits.unsqueeze(0), tokens, smoothing=smoothing)


def gradients(loss, parts):
    return torch.autograd.grad(loss * 0.37, [part for part in parts if part is not None])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("sizes", [(1, 1, 5), (7, 5, 17), (6, 16, 64), (5, 3, 131)])
def test_the_loss_equals_that_of_the_logits(sizes, smoothing):
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    hidden, weight, bias, labels = random_inputs(*sizes)
    for shift in (bias, None):
        expected = definition(hidden, weight, shift, labels, smoothing)
        result = linear_cross_entropy(
            hidden, weight, shift, labels, smoothing=smoothing, ignore_index=PAD
        )
        torch.testing.assert_close(result, expected)
        parts = hidden, weight, shift
        for actual, desired in zip(
            gradients(result, parts), gradients(expected, parts), strict=True
        ):
            torch.testing.assert_close(actual, desired)


def test_chunks_change_nothing():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = random_inputs(11, 4, 19)
    result = []
    for chunk in (1, 19 * 4, 10**9):
        loss = linear_cross_entropy(*parts, labels, smoothing=0.1, ignore_index=PAD, chunk=chunk)
        result.append([loss.detach(), *gradients(loss, parts)])
    for chunked in result[:2]:
        for actual, desired in zip(chunked, result[2], strict=True):
            torch.testing.assert_close(actual, desired)


def test_ignored_labels_have_zero_loss():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = random_inputs(3, 4, 9)
    loss = linear_cross_entropy(*parts, labels.fill_(PAD), smoothing=0.1, ignore_index=PAD)
    assert loss == 0
    assert all(not part.any() for part in gradients(loss, parts))


def test_ignored_rows_may_be_nan():
    from dhyan.kernels.triton.cross_entropy import row_losses

    scores, losses = torch.randn(2, 9), torch.empty(2)
    scores[1] = torch.nan
    row_losses(scores, torch.tensor([5, PAD]), losses, 0.1, PAD, True)
    assert losses[0] > 0
    assert losses[1] == 0
    assert scores[0].any()
    assert not scores[1].any()


def test_half_precision_loses_no_more_than_plain_pytorch():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = random_inputs(9, 24, 50, torch.bfloat16)
    full = [part.detach().float().requires_grad_() for part in parts]
    exact = definition(*full, labels, 0.1)
    half = definition(*parts, labels, 0.1)
    result = linear_cross_entropy(*parts, labels, smoothing=0.1, ignore_index=PAD)
    assert (result - exact).abs() <= 2 * (half - exact).abs() + 1e-3 * exact
    trios = zip(
        gradients(result, parts), gradients(half, parts), gradients(exact, full), strict=True
    )
    for actual, plain, right in trios:
        assert (actual - right).abs().max() <= 2 * (plain - right).abs().max() + 1e-3


def test_under_autocast_single_precision_weights_get_single_precision_gradients():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = random_inputs(9, 24, 50)
    with torch.autocast("cpu", torch.bfloat16):
        result = linear_cross_entropy(*parts, labels, smoothing=0.1, ignore_index=PAD)
    expected = definition(*parts, labels, 0.1)
    torch.testing.assert_close(result, expected, rtol=1e-2, atol=0)
    for actual, desired in zip(gradients(result, parts), gradients(expected, parts), strict=True):
        assert actual.dtype == torch.float32
        torch.testing.assert_close(actual, desired, rtol=0.1, atol=0.02)


def test_without_gradients_only_the_loss_is_computed():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = random_inputs(5, 4, 9)
    with torch.no_grad():
        result = linear_cross_entropy(*parts, labels, smoothing=0.1, ignore_index=PAD)
    torch.testing.assert_close(result, definition(*parts, labels, 0.1).detach())


def two_passes(rows, width, vocabulary, dtype=torch.float32, seed=0):
    """Hidden vectors of two passes that differ somewhat, and one label for each pair."""
    hidden, weight, bias, labels = random_inputs(rows, width, vocabulary, dtype, seed)
    noise = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed + 1))
    second = hidden.detach() + 0.3 * noise.to(dtype)
    hidden = torch.cat((hidden.detach(), second)).requires_grad_()
    return hidden, weight, bias, labels


def r_drop_definition(hidden, weight, bias, labels, **options):
    logits = torch.nn.functional.linear(hidden, weight, bias)
    return r_drop_loss(logits, labels, ignore_index=PAD, **options)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("sizes", [(1, 1, 5), (7, 5, 17), (6, 16, 64), (5, 3, 131)])
@pytest.mark.parametrize("r_drop", [0.5, 5.0])
def test_r_drop_equals_that_of_the_logits(sizes, smoothing, r_drop):
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    hidden, weight, bias, labels = two_passes(*sizes)
    options = {"r_drop": r_drop, "smoothing": smoothing}
    for shift in (bias, None):
        parts = hidden, weight, shift
        expected = r_drop_definition(*parts, labels, **options)
        result = linear_cross_entropy(*parts, labels, ignore_index=PAD, **options)
        torch.testing.assert_close(result, expected)
        for actual, desired in zip(
            gradients(result, parts), gradients(expected, parts), strict=True
        ):
            torch.testing.assert_close(actual, desired, rtol=1e-4, atol=1e-5)


def test_r_drop_in_chunks_and_without_gradients_is_the_same():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = two_passes(11, 4, 19)
    options = {"r_drop": 3.0, "smoothing": 0.1, "ignore_index": PAD}
    whole = linear_cross_entropy(*parts, labels, **options)
    expected = gradients(whole, parts)
    for chunk in (1, 19 * 8):
        loss = linear_cross_entropy(*parts, labels, chunk=chunk, **options)
        torch.testing.assert_close(loss, whole)
        for actual, desired in zip(gradients(loss, parts), expected, strict=True):
            torch.testing.assert_close(actual, desired)
    with torch.no_grad():
        torch.testing.assert_close(linear_cross_entropy(*parts, labels, **options), whole)


def test_r_drop_of_ignored_rows_may_be_nan():
    from dhyan.kernels.triton.cross_entropy import pair_losses

    logits, losses = torch.randn(4, 9), torch.empty(2)
    logits[1] = torch.nan
    pair_losses(logits, torch.tensor([5, PAD]), losses, 2.0, 0.1, PAD, True)
    assert losses[0] > 0
    assert losses[1] == 0
    assert logits[[0, 2]].any()
    assert not logits[[1, 3]].any()


def test_r_drop_in_half_precision_loses_no_more_than_plain_pytorch():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = two_passes(9, 24, 50, torch.bfloat16)
    full = [part.detach().float().requires_grad_() for part in parts]
    options = {"r_drop": 3.0, "smoothing": 0.1}
    exact = r_drop_definition(*full, labels, **options)
    half = r_drop_definition(*parts, labels, **options)
    result = linear_cross_entropy(*parts, labels, ignore_index=PAD, **options)
    assert (result - exact).abs() <= 2 * (half - exact).abs() + 1e-3 * exact
    trios = zip(
        gradients(result, parts), gradients(half, parts), gradients(exact, full), strict=True
    )
    for actual, plain, right in trios:
        assert (actual - right).abs().max() <= 2 * (plain - right).abs().max() + 1e-3
