"""The loss straight from the last vectors equals the loss of the logits, gradients too."""

import pytest
import torch

from dhyan.batch import Tokens
from dhyan.special_tokens import PAD
from dhyan.training.loss import cross_entropy


def case(rows, width, words, kind=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    vectors, weight, bias = (
        torch.randn(*shape, generator=generator).to(kind).requires_grad_()
        for shape in ((rows, width), (words, width), (words,))
    )
    labels = torch.randint(words, (rows,), generator=generator)
    labels[:: max(2, rows // 2)] = PAD
    return vectors, weight, bias, labels


def by_definition(vectors, weight, bias, labels, smoothing):
    logits = torch.nn.functional.linear(vectors, weight, bias)
    tokens = Tokens(labels.unsqueeze(0), (labels != PAD).unsqueeze(0))
    return cross_entropy(logits.unsqueeze(0), tokens, smoothing=smoothing)


def gradients(loss, parts):
    return torch.autograd.grad(loss * 0.37, [part for part in parts if part is not None])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("sizes", [(1, 1, 5), (7, 5, 17), (6, 16, 64), (5, 3, 131)])
def test_the_loss_is_that_of_the_logits(sizes, smoothing):
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    vectors, weight, bias, labels = case(*sizes)
    for shift in (bias, None):
        wanted = by_definition(vectors, weight, shift, labels, smoothing)
        found = linear_cross_entropy(
            vectors, weight, shift, labels, smoothing=smoothing, ignore_index=PAD
        )
        torch.testing.assert_close(found, wanted)
        parts = vectors, weight, shift
        for one, other in zip(gradients(found, parts), gradients(wanted, parts), strict=True):
            torch.testing.assert_close(one, other)


def test_chunks_change_nothing():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = case(11, 4, 19)
    found = []
    for chunk in (1, 19 * 4, 10**9):
        loss = linear_cross_entropy(*parts, labels, smoothing=0.1, ignore_index=PAD, chunk=chunk)
        found.append([loss.detach(), *gradients(loss, parts)])
    for some in found[:2]:
        for one, other in zip(some, found[2], strict=True):
            torch.testing.assert_close(one, other)


def test_labels_that_are_all_ignored_cost_nothing():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = case(3, 4, 9)
    loss = linear_cross_entropy(*parts, labels.fill_(PAD), smoothing=0.1, ignore_index=PAD)
    assert loss == 0
    assert all(not part.any() for part in gradients(loss, parts))


def test_what_is_ignored_may_be_no_number_at_all():
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

    *parts, labels = case(9, 24, 50, torch.bfloat16)
    full = [part.detach().float().requires_grad_() for part in parts]
    exact = by_definition(*full, labels, 0.1)
    half = by_definition(*parts, labels, 0.1)
    found = linear_cross_entropy(*parts, labels, smoothing=0.1, ignore_index=PAD)
    assert (found - exact).abs() <= 2 * (half - exact).abs() + 1e-3 * exact
    trios = zip(
        gradients(found, parts), gradients(half, parts), gradients(exact, full), strict=True
    )
    for one, plain, right in trios:
        assert (one - right).abs().max() <= 2 * (plain - right).abs().max() + 1e-3


def test_under_autocast_single_precision_weights_get_single_precision_gradients():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = case(9, 24, 50)
    with torch.autocast("cpu", torch.bfloat16):
        found = linear_cross_entropy(*parts, labels, smoothing=0.1, ignore_index=PAD)
    wanted = by_definition(*parts, labels, 0.1)
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=0)
    for one, other in zip(gradients(found, parts), gradients(wanted, parts), strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, rtol=0.1, atol=0.02)


def test_without_gradients_only_the_loss_is_found():
    from dhyan.kernels.triton.cross_entropy import linear_cross_entropy

    *parts, labels = case(5, 4, 9)
    with torch.no_grad():
        found = linear_cross_entropy(*parts, labels, smoothing=0.1, ignore_index=PAD)
    torch.testing.assert_close(found, by_definition(*parts, labels, 0.1).detach())
