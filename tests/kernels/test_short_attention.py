"""Attention over short sentences equals its definition, gradients too."""

import pytest
import torch

from dhyan.kernels.reference import attend, scaled_dot_scores
from dhyan.kernels.triton.fused_projections import (
    are_adjacent,
    empty_like_layout,
    pack,
    packed_linear,
)


def case(rows, heads, groups, queries, positions, width, dtype=torch.float32):
    torch.manual_seed(3)
    query = torch.randn(rows, queries, heads, width)
    keys, values = (torch.randn(rows, positions, groups, width) for _ in range(2))
    lengths = torch.randint(positions + 1, (rows, 1))
    lengths[0] = positions
    mask = torch.arange(positions) < lengths
    parts = (part.to(dtype).transpose(1, 2).requires_grad_() for part in (query, keys, values))
    return *parts, mask


def reference_kernels(query, keys, values, mask, causal):
    times, (queries, positions) = query.shape[1] // keys.shape[1], (query.shape[2], keys.shape[2])
    keys, values = (part.repeat_interleave(times, 1) for part in (keys, values))
    mask_by_query = mask[:, None, None, :].expand(-1, 1, queries, -1)
    if causal:
        mask_by_query = mask_by_query & torch.ones(queries, positions, dtype=torch.bool).tril(
            positions - queries
        )
    return attend(scaled_dot_scores(query, keys), values, mask_by_query)[0]


def by_kernel(query, keys, values, mask, causal):
    from dhyan.kernels.triton.short_attention import short_attention

    scale = query.shape[-1] ** -0.5
    return short_attention(query, keys, values, mask, causal=causal, scale=scale)


def gradients(context, parts):
    torch.manual_seed(5)
    return torch.autograd.grad(context, parts, torch.randn(context.shape).to(context.dtype))


SIZES = [
    (1, 1, 1, 1, 1, 1),
    (2, 2, 2, 5, 5, 8),
    (3, 4, 2, 3, 7, 5),
    (2, 4, 1, 17, 17, 16),
    (2, 1, 1, 1, 20, 24),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_short_attention_equals_its_definition(sizes, causal):
    *parts, mask = case(*sizes)
    expected, result = reference_kernels(*parts, mask, causal), by_kernel(*parts, mask, causal)
    torch.testing.assert_close(result, expected)
    for actual, desired in zip(gradients(result, parts), gradients(expected, parts), strict=True):
        torch.testing.assert_close(actual, desired)


def test_a_fully_masked_query_has_zero_context_and_gradient():
    *parts, mask = case(2, 2, 2, 3, 4, 8)
    result = by_kernel(*parts, torch.zeros_like(mask), False)
    assert not result.any()
    assert all(not gradient.any() for gradient in gradients(result, parts))


def test_half_precision_loses_little_more_than_plain_pytorch():
    """The interpreter cuts numbers off where a GPU rounds them, so it loses twice as much."""
    *parts, mask = case(3, 2, 2, 9, 9, 16, torch.bfloat16)
    full = [part.detach().float().requires_grad_() for part in parts]
    exact, half = reference_kernels(*full, mask, True), reference_kernels(*parts, mask, True)
    result = by_kernel(*parts, mask, True)
    assert (result - exact).abs().max() <= 4 * (half - exact).abs().max() + 1e-3
    trios = zip(
        gradients(result, parts), gradients(half, parts), gradients(exact, full), strict=True
    )
    for gradient, in_half, in_full in trios:
        assert (gradient - in_full).abs().max() <= 4 * (in_half - in_full).abs().max() + 1e-3


def test_packed_linear_equals_separate_layers():
    torch.manual_seed(1)
    layers = [torch.nn.Linear(6, width) for width in (6, 3, 5)]
    x = torch.randn(2, 4, 6, requires_grad=True)
    weights = [weight for layer in layers for weight in layer.parameters()]
    result, expected = packed_linear(x, layers), [layer(x) for layer in layers]
    for actual, desired in zip(result, expected, strict=True):
        torch.testing.assert_close(actual, desired)
    losses = (
        sum((i + part).square().sum() for i, part in enumerate(p)) for p in (result, expected)
    )
    ours, theirs = (torch.autograd.grad(loss, [x, *weights]) for loss in losses)
    for actual, desired in zip(ours, theirs, strict=True):
        torch.testing.assert_close(actual, desired)


def test_adjacent_slices_are_one_tensor():
    packed = torch.arange(24.0).view(2, 3, 4)
    slices = packed.split((1, 3), dim=-1)
    assert are_adjacent(slices)
    assert pack(slices).data_ptr() == packed.data_ptr()
    assert torch.equal(pack(slices), packed)
    assert are_adjacent(empty_like_layout(slices))
    for others in (slices[::-1], (slices[0], slices[1].clone()), (slices[0].clone(), slices[1])):
        assert not are_adjacent(others)
        assert torch.equal(pack(others), torch.cat(others, dim=-1))


def test_gradients_of_packed_slices_are_adjacent():
    torch.manual_seed(2)
    layers = [torch.nn.Linear(8, 8) for _ in range(3)]
    x, mask = torch.randn(2, 5, 8, requires_grad=True), torch.ones(2, 5, dtype=torch.bool)
    slices = packed_linear(x, layers)
    gradients_of_slices = []
    for part in slices:
        part.register_hook(gradients_of_slices.append)
    heads = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in slices)
    by_kernel(*heads, mask, True).square().sum().backward()
    assert are_adjacent(sorted(gradients_of_slices, key=torch.Tensor.data_ptr))
